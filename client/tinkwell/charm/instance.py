"""A storage, as handlers see it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Instance:
    """A storage that a unit has: its name, such as `data/3`, and the folder where its content is."""

    name: str
    path: Path

    @property
    def declared_name(self) -> str:
        """What the charm calls storages of this kind, such as `data`."""
        return self.name.partition("/")[0]
