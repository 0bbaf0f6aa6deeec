"""One attempt of a unit at an event, as its scripts see it: what they may read, and what they have done so far.

What is done lands with the event or not at all, and the scripts of the attempt read it back meanwhile. Statuses and log
lines are told at once, and remain whatever becomes of the attempt.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

MAX_BAG_KEYS = 256
MAX_VALUE_BYTES = 64 * 1024
MAX_BYTES = 1024 * 1024


class Refused(Exception):
    """What a script asks for is not allowed; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation that the unit is in. `application` is the other side, or the unit's own for a peer relation.

    `members` are units of the other side, or peers. The own application's bag is None where the unit may not read it.
    """

    number: int
    endpoint: str
    application: str
    is_peer: bool = False
    members: tuple[str, ...] = ()
    unit_bag: Mapping[str, str] = field(default_factory=dict)
    application_bag: Mapping[str, str] | None = None

    @property
    def id(self) -> str:
        """The relation's name for scripts, such as `db:7`."""
        return f"{self.endpoint}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What the attempt is about. `name` is the event's, such as `db-relation-changed`; what does not apply is empty."""

    name: str
    relation: int = 0
    application: str = ""
    unit: str = ""
    departing_unit: str = ""
    storage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a unit says of itself."""

    name: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the unit has at the grant. `storages` are the folders by the names of what is attached."""

    unit: str
    namespace: str
    occasion: Occasion
    config: Mapping[str, object] = field(default_factory=dict)
    relations: Mapping[int, Relation] = field(default_factory=dict)
    storages: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    status: Status = field(default_factory=Status)

    @property
    def application(self) -> str:
        """The unit's application."""
        return self.unit.rpartition("/")[0]


class World(Protocol):
    """What an attempt asks and tells while it runs."""

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of another unit or application; raises `Refused` where this one may not read it."""

    async def is_leader(self) -> bool:
        """Say whether the unit leads, and will for a while."""

    async def set_status(self, status: Status) -> None:
        """Tell the unit's status; raises `Refused`."""

    async def log(self, level: str, message: str) -> None:
        """Tell a line of the script's; raises `Refused` beyond the most lines of an event."""


@dataclass(frozen=True, slots=True)
class BagEdit:
    """What a key of a bag becomes; None for none. `owner` is the unit, or its application."""

    relation: int
    owner: str
    key: str
    value: str | None


class Attempt:
    """An attempt: reads what was given and what was done, and asks the world for the rest."""

    def __init__(self, given: Given, world: World) -> None:
        self.given = given
        self.status = given.status
        self._world = world
        self._bags: dict[tuple[int, str], dict[str, str | None]] = {}
        self._state: dict[str, str | None] = {}
        self._read: dict[tuple[int, str], Mapping[str, str]] = {}
        self._reading = asyncio.Lock()

    @property
    def bag_edits(self) -> list[BagEdit]:
        """What becomes of the unit's bags, and of its application's."""
        edits = self._bags.items()
        return [BagEdit(number, owner, key, value) for (number, owner), bag in edits for key, value in bag.items()]

    @property
    def state_edits(self) -> Mapping[str, str | None]:
        """What becomes of the unit's state."""
        return self._state

    @property
    def state(self) -> Mapping[str, str]:
        """The unit's state with what was done so far."""
        return _edited(self.given.state, self._state)

    async def bag(self, relation: Relation, owner: str) -> Mapping[str, str]:
        """Return a bag of a relation, that of a unit or an application; others' are read once. Raises `Refused`."""
        if owner == self.given.unit:
            return _edited(relation.unit_bag, self._bags.get((relation.number, owner), {}))
        if owner == self.given.application:
            if relation.application_bag is None and not await self.is_leader():
                raise Refused(f"permission denied: {self.given.unit} is not the leader")
            return _edited(relation.application_bag or {}, self._bags.get((relation.number, owner), {}))
        key = relation.number, owner
        async with self._reading:
            if key not in self._read:
                self._read[key] = await self._world.read_bag(relation.number, owner)
        return self._read[key]

    async def edit_bag(self, relation: Relation, owner: str, edits: Mapping[str, str | None]) -> None:
        """Change a bag of the unit's, or of the application that it leads. Raises `Refused`, and then does nothing."""
        if owner == self.given.application and not await self.is_leader():
            raise Refused(f"cannot write relation settings: {self.given.unit} is not the leader of {owner}")
        own = relation.unit_bag if owner == self.given.unit else relation.application_bag or {}
        former = self._bags.get((relation.number, owner), {})
        edited = {**former, **edits}
        _check(f"the bag of {owner} in {relation.id}", _edited(own, edited), max_keys=MAX_BAG_KEYS)
        self._bags[relation.number, owner] = edited

    def edit_state(self, edits: Mapping[str, str | None]) -> None:
        """Change the unit's state. Raises `Refused`, and then does nothing."""
        edited = {**self._state, **edits}
        _check(f"the state of {self.given.unit}", _edited(self.given.state, edited))
        self._state = edited

    async def is_leader(self) -> bool:
        """Say whether the unit leads, and will for a while."""
        return await self._world.is_leader()

    async def set_status(self, status: Status) -> None:
        """Tell the unit's status at once; raises `Refused`."""
        await self._world.set_status(status)
        self.status = status

    async def log(self, level: str, message: str) -> None:
        """Tell a line at once; raises `Refused`."""
        await self._world.log(level, message)


def _edited(content: Mapping[str, str], edits: Mapping[str, str | None]) -> Mapping[str, str]:
    return {key: value for key, value in {**content, **edits}.items() if value is not None}


def _check(what: str, content: Mapping[str, str], *, max_keys: int | None = None) -> None:
    """Refuse what the server would refuse at the commit, while a script can still do something else."""
    if max_keys is not None and len(content) > max_keys:
        raise Refused(f"{what} would have {len(content):,} keys; at most {max_keys} are allowed")
    for key, value in content.items() if max_keys is not None else ():
        if len(value.encode()) > MAX_VALUE_BYTES:
            raise Refused(f"{what} would have more than {MAX_VALUE_BYTES:,} bytes at {key!r}, which is the most")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in content.items())
    if size > MAX_BYTES:
        raise Refused(f"{what} would have {size:,} bytes; at most {MAX_BYTES:,} are allowed")
