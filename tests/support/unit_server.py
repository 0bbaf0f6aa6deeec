"""A server of one unit, as much of it as the agent's side is tried against.

It decides as the real one does what becomes of an attempt, by a list of events that the unit is to get instead of the
rules for those. Its state may be kept in a file, so that an agent that is killed finds it as it has left it.
"""

import asyncio
import dataclasses
import hashlib
import pickle
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.unit.event import EventRelation, UnitEvent
from tinkwell.client.unit.grant import Grant, GrantedRelation, Leadership, NoEvent, NoEventReason
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.core.charm import package
from tinkwell.core.unit.kinds import CharmKind, EventKind, Profile

UNIT_ID = "5b0d8a0e-8f0c-4b60-9f0b-6a4c2f0d9f11"
NAMES = {kind.value: kind for kind in EventKind}


@dataclass
class State:
    """All that the server knows. `in_flight` has the number, attempt and token of an event, and whether it failed."""

    packages: dict[str, bytes] = field(default_factory=dict)
    charm: str = ""
    names: list[str] = field(default_factory=list)
    done: int = 0
    in_flight: tuple[int, int, int, bool] | None = None
    token: int = 0
    is_gone: bool = False
    bag: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    # Name and attempt of what was committed, and why attempts have failed.
    committed: list[tuple[str, int]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lost: int = 0
    statuses: list[str] = field(default_factory=list)
    lines: dict[tuple[int, int, int], tuple[str, str]] = field(default_factory=dict)


class UnitServer:
    """The API of leases and units. With a path, the state is read before each call and written after it."""

    def __init__(self, names: Iterable[str], files: Mapping[str, str], *, path: Path | None = None) -> None:
        self._path = path
        self.state = State(names=list(names))
        self.others: dict[str, dict[str, str]] = {"pg/0": {"dsn": "pg://0"}}
        self.leadership = Leadership(leads=True, term=3, remaining_seconds=90.0, leader="web/0")
        # Events whose effects are refused, so that they have failed, and errors that the next calls of a name end with.
        self.refused: set[str] = set()
        self.errors: dict[str, list[errors.Error]] = {}
        self.timeout_seconds = 30.0
        self.storages: dict[str, bool] = {}
        self.kept_storages: set[str] = set()
        self.history_id = "one"
        self.refresh(files)
        self.woken = asyncio.Event()
        if path is not None and path.exists():
            self._load()

    def refresh(self, files: Mapping[str, str]) -> None:
        """Have the unit run another charm, which is made of scripts."""
        manifest = package.NewFile("charm.yaml", b"name: web\nrequires:\n  db: {interface: postgresql}\n")
        hooks = [
            package.NewFile(f"hooks/{name}", f"#!/bin/sh\n{text}\n".encode(), True) for name, text in files.items()
        ]
        made = package.pack([manifest, *hooks])
        digest = f"sha256:{hashlib.sha256(made).hexdigest()}"
        self.state.packages[digest] = made
        self.state.charm = digest

    def remove(self) -> None:
        """Have the unit removed by force."""
        self.state.is_gone = True
        self.state.in_flight = None
        self.woken.set()

    def retry(self) -> None:
        """Have a failed event tried again."""
        assert self.state.in_flight is not None
        number, attempt, _, _ = self.state.in_flight
        self.state.in_flight = (number, attempt, 0, False)
        self.woken.set()

    @property
    def is_over(self) -> bool:
        """Whether all events are committed."""
        return self.state.done == len(self.state.names)

    async def storages_in(self, namespace: str) -> frozenset[str]:
        """Return the storages that are there when the unit is gone."""
        assert namespace == "default"
        return frozenset(self.kept_storages)

    async def history(self) -> str:
        """Return the id of the log of events."""
        return self.history_id

    async def acquire(self, owner: str, engine: str) -> Lease:
        self._load()
        self.state.token += 1
        self._save()
        return Lease(self.state.token, 90.0)

    async def renew(self, lease_token: int) -> Renewed:
        return Renewed(90.0)

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        raise AssertionError("nothing is released here")

    async def wakes(
        self,
        lease_token: int,
        *,
        kinds: Iterable[CharmKind | str],
        machines: Iterable[str] = (),
        anywhere: bool = False,
        charm: str = "",
        namespace: str = "",
        application: str = "",
    ) -> AsyncIterator[tuple[str, ...]]:
        assert list(kinds) == [CharmKind.SCRIPTS]
        yield (UNIT_ID,)
        while True:
            await self.woken.wait()
            self.woken.clear()
            yield (UNIT_ID,)

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        self._check(lease_token, "next_event")
        following = self._next()
        self._save()
        return following

    async def commit(
        self, lease_token: int, event_id: str, attempt: int, effects: object, *, is_last: bool = False
    ) -> Grant | NoEvent:
        self._check(lease_token, "commit")
        assert isinstance(effects, bytes)
        number, state = int(event_id), self.state
        if (number, attempt) in [(n, a) for n, (_, a) in enumerate(state.committed)]:
            following = self._next()
            self._save()
            return following
        if state.in_flight is None or state.in_flight[:2] != (number, attempt):
            raise errors.LeaseLost("the attempt is another's")
        name = state.names[number]
        if name in self.refused:
            state.in_flight = (number, attempt, 0, True)
            raise errors.CommitRefused(f"effects of {name} are refused")
        self._apply(pb.Effects.FromString(effects))
        state.committed.append((name, attempt))
        state.in_flight, state.done = None, number + 1
        following = self._next()
        self._save()
        return following

    async def fail(
        self, lease_token: int, event_id: str, attempt: int, why: str, *, is_lost: bool = False
    ) -> Grant | NoEvent:
        self._check(lease_token, "fail")
        if is_lost:
            self.state.lost += 1
            self.state.in_flight = (int(event_id), attempt, 0, False)
        else:
            self.state.failures.append(why)
            self.state.in_flight = (int(event_id), attempt, 0, True)
        following = self._next()
        self._save()
        return following

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        if owner not in self.others:
            raise errors.PermissionDenied(f"the bag of {owner} is not for web/0")
        return Bag(owner, self.others[owner])

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        assert status is not None
        self._check(lease_token, "set_status")
        self.state.statuses.append(status.name)
        self._save()

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        for line in lines:
            self.state.lines.setdefault((line.ordinal, line.attempt, line.number), (line.level, line.text))
        return len(self.state.lines)

    async def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        if digest not in self.state.packages:
            raise errors.NotFound(f"there is no charm {digest}")
        content = self.state.packages[digest]
        yield content[:100]
        yield content[100:]

    def _check(self, token: int, name: str) -> None:
        self._load()
        if self.errors.get(name):
            raise self.errors[name].pop(0)
        if token != self.state.token:
            raise errors.LeaseLost("the lease is over")

    def _next(self) -> Grant | NoEvent:
        state = self.state
        if state.is_gone:
            return NoEvent(reason=NoEventReason.GONE)
        if state.in_flight is None:
            if state.done == len(state.names):
                return NoEvent(reason=NoEventReason.NOTHING_DUE)
            state.in_flight = (state.done, 1, state.token, False)
        number, attempt, token, has_failed = state.in_flight
        if has_failed:
            return NoEvent(reason=NoEventReason.IN_ERROR)
        if token != state.token:
            state.lost += token != 0
            state.in_flight = (number, attempt + 1, state.token, False)
        return self._grant(number, state.in_flight[1])

    def _grant(self, number: int, attempt: int) -> Grant:
        relation = GrantedRelation(
            number=7, endpoint="db", application="pg", members=("pg/0",), own=Bag("web/0", dict(self.state.bag))
        )
        return Grant(
            event=_event(number, attempt, self.state.names[number]),
            timeout_seconds=self.timeout_seconds,
            unit_id=UNIT_ID,
            unit="web/0",
            application="web",
            namespace="default",
            profile=Profile.LITERAL,
            kind=CharmKind.SCRIPTS,
            charm=self.state.charm,
            config={"workers": 2},
            leadership=self.leadership,
            relations=(relation,),
            storages=self.storages,
            state=dict(self.state.kept),
            status=UnitStatus(),
        )

    def _apply(self, effects: pb.Effects) -> None:
        for bag in effects.bags:
            for edit in bag.edits:
                key = f"app.{edit.key}" if bag.is_application else edit.key
                _edit(self.state.bag, key, edit.value if edit.HasField("value") else None)
        for edit in effects.state:
            _edit(self.state.kept, edit.key, edit.value if edit.HasField("value") else None)

    def _load(self) -> None:
        if self._path is not None and self._path.exists():
            self.state = pickle.loads(self._path.read_bytes())

    def _save(self) -> None:
        if self._path is not None:
            scrap = self._path.with_suffix(".scrap")
            scrap.write_bytes(pickle.dumps(self.state))
            scrap.replace(self._path)


def _event(number: int, attempt: int, name: str) -> UnitEvent:
    """Make an event of its name, such as `db-relation-changed`."""
    kind = next(kind for text, kind in sorted(NAMES.items(), key=lambda each: -len(each[0])) if name.endswith(text))
    event = UnitEvent(str(number), kind=kind, ordinal=number + 1, attempt=attempt, unit="web/0", unit_id=UNIT_ID)
    if kind.is_relation:
        event = dataclasses.replace(event, relation=EventRelation(7, "db", application="pg", unit="pg/0"))
    if kind.is_storage:
        event = dataclasses.replace(event, storage="data/0")
    return event


def _edit(content: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        content.pop(key, None)
    else:
        content[key] = value
