"""What an attempt asks and tells while its programs run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tinkwell.provisioner.unit.attempt.given import Status


class Refused(Exception):
    """What a program asks for is not allowed; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the charm of the unit declares: what addresses can be asked for, its storages, and its resources.

    A resource has the path of its file, and None where the package does not have that.
    """

    bindings: frozenset[str] = frozenset()
    storages: frozenset[str] = frozenset()
    resources: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A revision of a secret."""

    revision: int
    values: Mapping[str, str]


class World(Protocol):
    """What is around an attempt. All of it raises `Refused`."""

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of another unit or application, which this one has to be allowed to read."""

    async def read_secret(self, secret: str, revision: int) -> Content:
        """Return a revision of a secret, 0 for the newest one, which the unit has to own or to be granted."""

    async def is_leader(self) -> bool:
        """Say whether the unit leads, and will for a while."""

    async def set_status(self, status: Status) -> None:
        """Tell the unit's status."""

    async def set_application_status(self, status: Status) -> None:
        """Tell the application's status, which the leader may."""

    async def set_version(self, version: str) -> None:
        """Tell the version of what the unit runs."""

    async def log(self, level: str, message: str) -> None:
        """Tell a line of the program's; there is a most of them for an event."""

    async def tell(self, message: str) -> None:
        """Tell a line to who has asked for the task."""

    async def declared(self) -> Declared:
        """Say what the unit's charm declares."""
