"""What the handler of an event leaves: all of it is written together with the event's commit, or nothing is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class BagEdit:
    """What changes in a bag of the unit, or of its application: text for a key, or None to remove it.

    The last edit of a bag's key in an event is the one that counts.
    """

    relation: int
    owner: Owner
    edits: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that a unit says it opens; `protocol` is `tcp`, `udp` or `icmp`, which has the number 0."""

    protocol: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRequest:
    """How many more instances of a storage a unit asks for, by the name under which its charm declares it."""

    storage: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A handler that is to hear an event once more: `handler` names it, `ordinal` is the event's.

    Two notices of one handler are equal if `event` is: what the event says but for its ordinal.
    """

    ordinal: int
    handler: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What an event changes beside what is immediate (status, workload version and lines of log).

    `term` is the one under which an application's bag was written, 0 if none was. `state` has text for a key of the
    unit's state, None to remove it. `deferred` are notices that are new, `consumed` those that were heard and are gone;
    a notice that was heard and deferred again is in neither, and keeps its place.
    """

    term: int = 0
    bags: tuple[BagEdit, ...] = ()
    state: Mapping[str, str | None] = field(default_factory=dict)
    opened: tuple[Port, ...] = ()
    closed: tuple[Port, ...] = ()
    storages: tuple[StorageRequest, ...] = ()
    deferred: tuple[Notice, ...] = ()
    consumed: tuple[Notice, ...] = ()


NO_EFFECTS = Effects()
