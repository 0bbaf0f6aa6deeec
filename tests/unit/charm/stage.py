"""An agent's server that says what a test wants, and a host of one unit at it."""

import asyncio
import contextlib
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tinkwell import charm
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.charm.agent.host import Host, Served
from tinkwell.charm.agent.outbox import LogHandler
from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.lease.model import Lease as Acquired
from tinkwell.client.lease.model import Renewed
from tinkwell.client.unit.agent.grant import Grant, NoEvent, NoEventReason, SecretContent
from tinkwell.client.unit.event import UnitEvent
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind, EventKind, Profile

UNIT_ID = str(uuid.UUID(int=7))
GONE = NoEvent(reason=NoEventReason.GONE)
QUIET = NoEvent(reason=NoEventReason.NOTHING_DUE)
# What the end of an event is answered where somebody has to be elected, which only asking does.
ASK = NoEvent(reason=NoEventReason.NOTHING_DUE, due_in_seconds=0.0)


@dataclass
class Units:
    """A server that gives prepared answers to what starts and ends attempts, and remembers all calls."""

    answers: deque[Grant | NoEvent | errors.Error] = field(default_factory=deque)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    lines: list[UnitLogLine] = field(default_factory=list)
    statuses: list[dict[str, object]] = field(default_factory=list)
    # The task, the number and the text of each line that a task has told.
    told: list[tuple[str, int, str]] = field(default_factory=list)
    on_commit: Callable[[], object] = lambda: None
    on_next: Callable[[], object] = lambda: None

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        self.on_next()
        return self._answer("next", lease_token)

    async def commit(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        effects: Effects | bytes,
        *,
        is_last: bool = False,
        task: TaskOutcome | None = None,
    ) -> Grant | NoEvent:
        self.on_commit()
        return self._answer("commit", event_id, attempt, effects, task or is_last)

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
        assert not is_lost
        assert not is_handed_back
        return self._answer("fail", event_id, attempt, why)

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        if owner != "pg/0":
            raise errors.PermissionDenied(f"{owner} is none of your business")
        return Bag(owner, {"dsn": "x"})

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        self.calls.append(("read", event_id, secret, revision))
        match secret:
            case "00000000000000000000":
                raise errors.NotFound("it does not exist")
            case _:
                return SecretContent(id=secret, revision=revision or 4, content={"password": f"r{revision or 4}"})

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        self.told += [(task_id, number + at, line) for at, line in enumerate(lines)]

    async def set_status(self, lease_token: int, unit_id: str, **said: UnitStatus | str | None) -> None:
        self.statuses.append({what: status for what, status in said.items() if status is not None})

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        before = len(self.lines)
        self.lines += lines
        return len(self.lines) - before

    async def wakes(self, lease_token: int, **_: object) -> AsyncIterator[tuple[str, ...]]:
        yield (UNIT_ID,)

    async def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        yield b"a program is its own charm"

    def _answer(self, *call: object) -> Grant | NoEvent:
        self.calls.append(call)
        answer = self.answers.popleft() if self.answers else GONE
        if isinstance(answer, errors.Error):
            raise answer
        return answer


class Leases:
    async def acquire(self, owner: str, engine: str) -> Acquired:
        return Acquired(4, 30.0)

    async def renew(self, lease_token: int) -> Renewed:
        return Renewed(30.0)

    async def release(self, lease_token: int, *, workflow_id: str = "", worker_id: str = "") -> None:
        """Take note."""


async def serve(units: Units, charm_class: type[charm.Charm], folder: AgentFolder, **times: float) -> None:
    """Serve the unit until the server says that it is gone."""
    async with hosting(units, charm_class, folder, **times) as host:
        await host.run()


@contextlib.asynccontextmanager
async def hosting(
    units: Units,
    charm_class: type[charm.Charm],
    folder: AgentFolder,
    *,
    look_seconds: float = 1.0,
    held_seconds: float = 10.0,
) -> AsyncIterator[Host]:
    """Make a host of the unit, under a lease; what is done with it ends within ten seconds."""
    lease = Keeper(Leases(), owner="charm:test", engine="charm:test")
    handler = LogHandler()
    keeper = asyncio.create_task(lease.run())
    logging.getLogger().addHandler(handler)
    try:
        async with asyncio.timeout(10):
            yield Host(
                Served(
                    units=units,
                    lease=lease,
                    folder=folder,
                    charm_class=charm_class,
                    digest="sha256:0",
                    stopping=asyncio.Event(),
                    look_seconds=look_seconds,
                    held_seconds=held_seconds,
                ),
                UNIT_ID,
            )
    finally:
        logging.getLogger().removeHandler(handler)
        keeper.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeper


def granted(kind: EventKind = EventKind.INSTALL, attempt: int = 1, **given: Any) -> Grant:
    event = UnitEvent(id="e1", unit="web/0", kind=kind, ordinal=1, attempt=attempt, relation=given.pop("about", None))
    given.setdefault("storages", {})
    return Grant(
        event=event,
        timeout_seconds=given.pop("timeout_seconds", 60.0),
        unit_id=UNIT_ID,
        unit="web/0",
        application="web",
        namespace="default",
        profile=Profile.LITERAL,
        kind=CharmKind.NATIVE,
        charm="sha256:0",
        **given,
    )
