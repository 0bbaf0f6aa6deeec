"""The statuses that a unit sets for people."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Status:
    """One of the four below; `message` is a sentence for people, such as `for the database's credentials`."""

    name: ClassVar[str] = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Active(Status):
    """The unit does its work."""

    name = "active"


@dataclass(frozen=True, slots=True)
class Waiting(Status):
    """The unit waits for something that needs no help of a person, such as another application's data."""

    name = "waiting"


@dataclass(frozen=True, slots=True)
class Blocked(Status):
    """The unit cannot go on until a person helps; the message says how."""

    name = "blocked"


@dataclass(frozen=True, slots=True)
class Maintenance(Status):
    """The unit works on itself, and does not do its usual work meanwhile."""

    name = "maintenance"
