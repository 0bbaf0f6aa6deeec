"""One attempt of a unit at an event or a task, as its programs see it: what they may read, and what they have done.

What is done lands with the event or not at all, and the programs of the attempt read it back meanwhile. Statuses and
log lines are told at once, and remain whatever becomes of the attempt.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tinkwell.core.unit import limit
from tinkwell.provisioner.unit.attempt.given import Given, Relation, Status
from tinkwell.provisioner.unit.attempt.port import Ports
from tinkwell.provisioner.unit.attempt.result import Result
from tinkwell.provisioner.unit.attempt.secret import Secrets
from tinkwell.provisioner.unit.attempt.world import Refused, World


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
        self.world = world
        self.status = given.status
        self.application_status = given.application_status
        self.ports = Ports(given.ports)
        self.secrets = Secrets(given, world)
        self.result = Result()
        # How many more of each storage are asked for, by the name under which the charm declares it.
        self.storages: dict[str, int] = {}
        self._bags: dict[tuple[int, str], dict[str, str | None]] = {}
        self._state: dict[str, str | None] = {}
        self._read: dict[tuple[int, str], Mapping[str, str]] = {}
        if given.remote is not None:
            owner, bag = given.remote
            self._read[given.occasion.relation, owner] = bag
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
                self._read[key] = await self.world.read_bag(relation.number, owner)
        return self._read[key]

    async def edit_bag(self, relation: Relation, owner: str, edits: Mapping[str, str | None]) -> None:
        """Change a bag of the unit's, or of the application that it leads. Raises `Refused`, and then does nothing."""
        if owner == self.given.application and not await self.is_leader():
            raise Refused(f"cannot write relation settings: {self.given.unit} is not the leader of {owner}")
        own = relation.unit_bag if owner == self.given.unit else relation.application_bag or {}
        former = self._bags.get((relation.number, owner), {})
        edited = {**former, **edits}
        what = f"the bag of {owner} in {relation.id}"
        _check(what, _edited(own, edited), max_keys=limit.BAG_KEYS, max_bytes=limit.BAG_BYTES)
        self._bags[relation.number, owner] = edited

    def edit_state(self, edits: Mapping[str, str | None]) -> None:
        """Change the unit's state. Raises `Refused`, and then does nothing."""
        edited = {**self._state, **edits}
        _check(f"the state of {self.given.unit}", _edited(self.given.state, edited), max_bytes=limit.STATE_BYTES)
        self._state = edited

    async def is_leader(self) -> bool:
        """Say whether the unit leads, and will for a while."""
        return await self.world.is_leader()

    async def set_status(self, status: Status) -> None:
        """Tell the unit's status at once; raises `Refused`."""
        await self.world.set_status(status)
        self.status = status

    async def set_application_status(self, status: Status) -> None:
        """Tell the application's status at once; raises `Refused`."""
        await self.world.set_application_status(status)
        self.application_status = status

    async def log(self, level: str, message: str) -> None:
        """Tell a line at once; raises `Refused`."""
        await self.world.log(level, message)


def _edited(content: Mapping[str, str], edits: Mapping[str, str | None]) -> Mapping[str, str]:
    return {key: value for key, value in {**content, **edits}.items() if value is not None}


def _check(what: str, content: Mapping[str, str], *, max_bytes: int, max_keys: int | None = None) -> None:
    """Refuse what the server would refuse at the commit, while a program can still do something else."""
    if max_keys is not None and len(content) > max_keys:
        raise Refused(f"{what} would have {len(content):,} keys; at most {max_keys} are allowed")
    for key, value in content.items() if max_keys is not None else ():
        if len(value.encode()) > limit.BAG_VALUE_BYTES:
            raise Refused(f"{what} would have more than {limit.BAG_VALUE_BYTES:,} bytes at {key!r}, which is the most")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in content.items())
    if size > max_bytes:
        raise Refused(f"{what} would have {size:,} bytes; at most {max_bytes:,} are allowed")
