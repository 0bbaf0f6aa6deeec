"""A server of one unit, as much of it as the agent's side is tried against.

It decides as the real one does what becomes of an attempt, by a list of events and tasks that the unit is to get
instead of the rules for those. Its state may be kept in a file, so that an agent that is killed finds it as it has left
it.
"""

import asyncio
import dataclasses
import hashlib
import pickle
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

from support.unit_server_state import UNIT_ID, State, apply, event
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.lease.model import Lease, Renewed
from tinkwell.client.unit.agent.grant import (
    Grant,
    GrantedRelation,
    GrantedSecret,
    Leadership,
    NoEvent,
    NoEventReason,
    SecretContent,
)
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.client.unit.notice import DeferredNotice
from tinkwell.client.unit.task import CANCELLED, Task
from tinkwell.core.charm import package
from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import TaskOutcome
from tinkwell.core.unit.kinds import CharmKind, Profile, TaskKind, TaskState

__all__ = ["UNIT_ID", "UnitServer"]


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
        # Secrets that the unit may change, the first of which events of secrets are about, at revision 1.
        self.owned: list[str] = []
        self.storages: dict[str, bool] = {}
        self.kept_storages: set[str] = set()
        self.history_id = "one"
        self.config: dict[str, object] = {"workers": 2}
        self.refresh(files)
        self.woken = asyncio.Event()
        # Ordinals of events whose attempts were handed back.
        self.handed_back: list[int] = []
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

    def deploy(self, files: Iterable[package.NewFile]) -> None:
        """Have the unit run a charm of ops, which has these files."""
        made = package.pack(files)
        digest = f"sha256:{hashlib.sha256(made).hexdigest()}"
        self.state.packages[digest] = made
        self.state.charm, self.state.kind = digest, CharmKind.OPS

    def ask(
        self, action: str = "", *, parameters: Mapping[str, object] | None = None, arguments: Sequence[str] = ()
    ) -> str:
        """Have the unit run a task, and return its id."""
        task = Task(
            f"5b0d8a0e-8f0c-4b60-9f0b-{len(self.state.asked) + len(self.state.ended):012}",
            kind=TaskKind.EXEC if arguments else TaskKind.ACTION,
            name=action,
            parameters=dict(parameters or {}),
            arguments=tuple(arguments),
            state=TaskState.RUNNING,
        )
        self.state.asked.append(task)
        self.woken.set()
        return task.id

    def cancel(self) -> None:
        """Have the task that runs be ended."""
        assert self.state.running is not None
        task, token = self.state.running
        self.state.running = dataclasses.replace(task, message=CANCELLED), token
        self.woken.set()

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
        """Whether all events are committed, and all tasks have ended."""
        state = self.state
        return state.done == len(state.names) and not state.asked and state.running is None

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
        assert list(kinds) == [CharmKind.SCRIPTS, CharmKind.OPS]
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
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        effects: object,
        *,
        is_last: bool = False,
        task: TaskOutcome | None = None,
    ) -> Grant | NoEvent:
        self._check(lease_token, "commit")
        assert isinstance(effects, bytes)
        if task is not None:
            return self._end_task(event_id, pb.Effects.FromString(effects), task)
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
        apply(self.state, pb.Effects.FromString(effects))
        state.committed.append((name, attempt))
        state.in_flight, state.done = None, number + 1
        following = self._next()
        self._save()
        return following

    async def fail(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        why: str,
        *,
        is_lost: bool = False,
        is_handed_back: bool = False,
    ) -> Grant | NoEvent:
        self._check(lease_token, "fail")
        if is_handed_back:
            self.handed_back.append(int(event_id))
            return NoEvent(reason=NoEventReason.NOTHING_DUE)
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

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        if secret not in self.state.secrets:
            raise errors.NotFound(f"there is no secret {secret}")
        revisions = self.state.secrets[secret]
        revision = revision or len(revisions)
        return SecretContent(id=secret, revision=revision, content=revisions[revision - 1])

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        self.state.told += lines

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        self._check(lease_token, "set_status")
        if status is not None:
            self.state.statuses.append(status.name)
        self.state.version = workload_version or self.state.version
        if application_status is not None:
            self.state.application_status = application_status.name
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
        if (task := self._task()) is not None:
            return task
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

    def _task(self) -> Grant | None:
        """Grant the task that runs, or the next one where no event runs."""
        state = self.state
        if state.running is not None and state.running[1] != state.token:
            lost = TaskOutcome(state=TaskState.FAILED, message="its agent was lost")
            state.ended[state.running[0].id] = lost, []
            state.running = None
        if state.running is None:
            if not state.asked or (state.in_flight is not None and not state.in_flight[3]):
                return None
            state.running = state.asked.pop(0), state.token
        task = state.running[0]
        event = UnitEvent(task.id, unit="web/0", attempt=1)
        return dataclasses.replace(self._grant(0, 1), event=event, task=task)

    def _end_task(self, task_id: str, effects: pb.Effects, outcome: TaskOutcome) -> Grant | NoEvent:
        state = self.state
        if task_id not in state.ended:
            if state.running is None or state.running[0].id != task_id:
                raise errors.IllegalTransition("the task has ended otherwise")
            if len(outcome.result.encode()) > limit.TASK_RESULT_BYTES:
                raise errors.InvalidField.of("task.result", "is too long")
            state.running = None
            if outcome.state is TaskState.SUCCEEDED:
                apply(self.state, effects)
            state.ended[task_id] = outcome, list(state.told)
        following = self._next()
        self._save()
        return following

    def _grant(self, number: int, attempt: int) -> Grant:
        relation = GrantedRelation(
            number=7, endpoint="db", application="pg", members=("pg/0",), own=Bag("web/0", dict(self.state.bag))
        )
        return Grant(
            event=event(number, attempt, self.state.names[number] if self.state.names else "install", *self.owned[:1]),
            timeout_seconds=self.timeout_seconds,
            unit_id=UNIT_ID,
            unit="web/0",
            application="web",
            namespace="default",
            profile=Profile.LITERAL,
            kind=self.state.kind,
            charm=self.state.charm,
            config=self.config,
            leadership=self.leadership,
            relations=(relation,),
            storages=self.storages,
            state=dict(self.state.kept),
            status=UnitStatus(),
            deferred=tuple(DeferredNotice(*each) for each in self.state.notices),
            secrets=tuple(
                GrantedSecret(id=each, owner="pg", latest=len(held)) for each, held in self.state.secrets.items()
            )
            + tuple(GrantedSecret(id=each, owner="web/0", owned=True, label="own", latest=2) for each in self.owned),
            committed_ordinal=len(self.state.committed),
        )

    def _load(self) -> None:
        if self._path is not None and self._path.exists():
            self.state = pickle.loads(self._path.read_bytes())

    def _save(self) -> None:
        if self._path is not None:
            scrap = self._path.with_suffix(".scrap")
            scrap.write_bytes(pickle.dumps(self.state))
            scrap.replace(self._path)
