"""A storage, as handlers see it."""

from dataclasses import dataclass
from pathlib import Path

from tinkwell.charm import errors


@dataclass(frozen=True, slots=True)
class Instance:
    """A storage: its name, such as `data/3`, and the folder where its content is.

    `folder` is None where the unit does not have it any more, as when an event comes back after it was put off.
    """

    name: str
    folder: Path | None

    @property
    def is_attached(self) -> bool:
        """Whether the unit has it."""
        return self.folder is not None

    @property
    def path(self) -> Path:
        """The folder. Raises `StorageMissing` where the unit does not have it any more."""
        if self.folder is None:
            raise errors.StorageMissing(f"storage {self.name} is gone; look at is_attached first")
        return self.folder

    @property
    def declared_name(self) -> str:
        """What the charm calls storages of this kind, such as `data`."""
        return self.name.partition("/")[0]
