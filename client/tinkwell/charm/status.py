"""What a unit says of itself to people."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Status:
    """One of the four below; `message` is a sentence for people, such as `for the database's credentials`."""

    name: ClassVar[str] = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Active(Status):
    """The unit does what it is for."""

    name = "active"


@dataclass(frozen=True, slots=True)
class Waiting(Status):
    """The unit waits for something that comes without anybody's help, such as another application's data."""

    name = "waiting"


@dataclass(frozen=True, slots=True)
class Blocked(Status):
    """The unit cannot go on until a person does something; the message says what."""

    name = "blocked"


@dataclass(frozen=True, slots=True)
class Maintenance(Status):
    """The unit is at work on itself, and does not do what it is for meanwhile."""

    name = "maintenance"
