"""A storage, as handlers see it."""

from dataclasses import dataclass
from pathlib import Path

from tinkwell.charm import errors


@dataclass(frozen=True, slots=True)
class Instance:
    """A storage: its name, such as `data/3`, and the folder with its content.

    `folder` is None if the unit no longer has the storage, for example when a deferred event comes back.
    """

    name: str
    folder: Path | None

    @property
    def is_attached(self) -> bool:
        """Whether the unit has the storage."""
        return self.folder is not None

    @property
    def path(self) -> Path:
        """The folder. Raises `StorageMissing` if the unit no longer has the storage."""
        if self.folder is None:
            raise errors.StorageMissing(f"storage {self.name} is gone; look at is_attached first")
        return self.folder

    @property
    def declared_name(self) -> str:
        """The name of its declaration in the charm, such as `data`."""
        return self.name.partition("/")[0]
