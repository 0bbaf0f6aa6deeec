"""How an agent serves one unit: what it says of each attempt, and what it keeps until that is heard."""

import asyncio
import contextlib
import dataclasses
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.charm.agent.host import Host, Served
from tinkwell.charm.agent.outbox import LogHandler
from tinkwell.client import errors
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.lease.model import Lease as Acquired
from tinkwell.client.lease.model import Renewed
from tinkwell.client.unit.event import EventRelation, UnitEvent
from tinkwell.client.unit.grant import Grant, GrantedRelation, Leadership, NoEvent, NoEventReason
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.client.unit.outcome import Outcome
from tinkwell.client.unit.worker import encode
from tinkwell.core.unit.effect import NO_EFFECTS, Effects
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
    on_commit: Callable[[], object] = lambda: None
    on_next: Callable[[], object] = lambda: None

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        self.on_next()
        return self._answer("next", lease_token)

    async def commit(
        self, lease_token: int, event_id: str, attempt: int, effects: Effects | bytes, *, is_last: bool = False
    ) -> Grant | NoEvent:
        self.on_commit()
        return self._answer("commit", event_id, attempt, effects, is_last)

    async def fail(
        self, lease_token: int, event_id: str, attempt: int, why: str, *, is_lost: bool = False
    ) -> Grant | NoEvent:
        assert not is_lost
        return self._answer("fail", event_id, attempt, why)

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        if owner != "pg/0":
            raise errors.PermissionDenied(f"{owner} is none of your business")
        return Bag(owner, {"dsn": "x"})

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


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[AgentFolder]:
    opened = AgentFolder.open(tmp_path / "agent")
    yield opened
    opened.close()


async def serve(units: Units, charm_class: type[charm.Charm], folder: AgentFolder) -> None:
    """Serve the unit until the server says that it is gone."""
    async with hosting(units, charm_class, folder) as host:
        await host.run()


@contextlib.asynccontextmanager
async def hosting(units: Units, charm_class: type[charm.Charm], folder: AgentFolder) -> AsyncIterator[Host]:
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


async def test_effects_are_on_the_disk_before_the_server_is_told_and_gone_after(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            self.state["n"] = "1"

    found: list[Outcome | None] = []
    units = Units(deque([granted(), ASK, GONE]), on_commit=lambda: found.append(folder.outcomes.find(UNIT_ID)))
    await serve(units, Web, folder)
    effects = encode(dataclasses.replace(NO_EFFECTS, state={"n": "1"}))
    assert units.calls == [("next", 4), ("commit", "e1", 1, effects, False), ("next", 4)]
    assert found == [Outcome(unit_id=UNIT_ID, event_id="e1", attempt=1, lease_token=4, effects=effects)]
    assert folder.outcomes.unit_ids() == []


async def test_nothing_is_asked_after_a_commit_until_the_unit_is_named(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    units = Units(deque([granted(), QUIET, GONE]))
    async with hosting(units, Web, folder) as host:
        # What it is named for while its event runs is in the answer to the commit.
        units.on_next = host.wake
        serving = asyncio.create_task(host.run())
        await eventually(lambda: len(units.calls) == 2 and not folder.outcomes.unit_ids())
        for _ in range(10):
            await asyncio.sleep(0)
        assert [call[0] for call in units.calls] == ["next", "commit"]
        host.wake()
        await serving
    assert [call[0] for call in units.calls] == ["next", "commit", "next"]


async def test_what_a_predecessor_has_kept_is_sent_before_anything_is_asked_for(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    folder.outcomes.keep(Outcome(unit_id=UNIT_ID, event_id="e0", attempt=3, lease_token=2, effects=b""))
    units = Units(deque([GONE]))
    await serve(units, Web, folder)
    assert units.calls == [("commit", "e0", 3, b"", False)]
    assert folder.outcomes.unit_ids() == []


@pytest.mark.parametrize(
    "refused",
    [
        [errors.LeaseLost("taken"), errors.LeaseLost("taken")],
        [errors.NotFound("gone")],
        [errors.IllegalTransition("no")],
    ],
)
async def test_an_outcome_that_nobody_wants_is_dropped(folder: AgentFolder, refused: list[errors.Error]) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    folder.outcomes.keep(Outcome(unit_id=UNIT_ID, event_id="e0", attempt=1, lease_token=2, effects=b""))
    await serve(Units(deque([*refused, GONE])), Web, folder)
    assert folder.outcomes.unit_ids() == []


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyError("dsn"), "KeyError: 'dsn'"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "a handler was cancelled by itself"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError("x" * 3000), f"RuntimeError: {'x' * 986}"),
    ],
)
async def test_what_a_handler_raises_fails_its_event_alone(
    folder: AgentFolder, raised: BaseException, said: str
) -> None:
    class Web(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            self.state["n"] = "1"
            raise raised

    units = Units(deque([granted(), ASK, GONE]))
    await serve(units, Web, folder)
    assert units.calls[1] == ("fail", "e1", 1, said)
    assert folder.outcomes.unit_ids() == []
    if not isinstance(raised, asyncio.CancelledError):
        assert any("Traceback" in line.text and line.level == "ERROR" for line in units.lines)


async def test_a_handler_that_takes_too_long_is_ended(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            await asyncio.Event().wait()

    units = Units(deque([granted(timeout_seconds=0.01), GONE]))
    await serve(units, Web, folder)
    assert units.calls[1] == ("fail", "e1", 1, "it was not done within 0.01 seconds")


async def test_statuses_and_logs_are_told_at_once_and_stay_if_the_event_fails(folder: AgentFolder) -> None:
    told: list[object] = []
    units = Units(deque([granted(), GONE]))

    class Web(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            self.status = charm.Maintenance("at work")
            self.set_workload_version("1.2")
            logging.getLogger("web").warning("two\nlines")
            await asyncio.to_thread(logging.getLogger("web").error, "from a thread")
            await eventually(lambda: len(units.lines) == 3)
            told.extend(units.statuses)
            raise RuntimeError("no")

    await serve(units, Web, folder)
    assert told == [{"status": UnitStatus("maintenance", "at work"), "workload_version": "1.2"}]
    assert [(line.number, line.level, line.text) for line in units.lines[:3]] == [
        (1, "WARNING", "two"),
        (2, "WARNING", "lines"),
        (3, "ERROR", "from a thread"),
    ]


async def test_a_charm_is_given_what_the_server_grants(folder: AgentFolder) -> None:
    seen: list[object] = []

    class Web(charm.Charm):
        db = charm.Requires("db", interface="postgresql")
        data = charm.Storage("data")
        ratio = charm.Option(float, default=0.5)

        @db.changed
        async def changed(self, event: charm.RelationChanged) -> None:
            seen.extend([event.remote, self.ratio, self.is_leader, self.data.one().path.is_dir(), event.relation.units])
            self.db[3].application["k"] = "v"
            with pytest.raises(charm.NotReadable, match="none of your business"):
                await event.relation.read("pg/9")

    grant = granted(
        EventKind.RELATION_CHANGED,
        about=EventRelation(3, "db", application="pg", unit="pg/0"),
        config={"ratio": 2},
        storages={"data/0": True, "data/1": False},
        relations=(GrantedRelation(number=3, endpoint="db", application="pg", members=("pg/0",)),),
        leadership=Leadership(leads=True, term=2, remaining_seconds=60.0),
    )
    units = Units(deque([grant, ASK, GONE]))
    await serve(units, Web, folder)
    assert seen == [{"dsn": "x"}, 2.0, True, True, ("pg/0",)]
    assert units.calls[1][0] == "commit"


async def test_a_handler_of_a_unit_that_is_gone_is_ended(folder: AgentFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkwell.charm.agent.host._LOOK_SECONDS", 0.0)
    ended: list[bool] = []

    class Web(charm.Charm):
        @charm.on.install
        async def install(self, event: charm.Install) -> None:
            host.wake()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

    units = Units(deque([granted(), granted(), GONE]))
    units.on_next = lambda: host.wake()
    async with hosting(units, Web, folder) as host:
        await host.run()
    assert ended == [True]
    assert [call[0] for call in units.calls] == ["next", "next", "next"]


async def test_a_refused_effect_is_the_end_of_its_outcome(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    units = Units(deque([granted(), errors.CommitRefused("bags[0]: no"), GONE]))
    await serve(units, Web, folder)
    assert [call[0] for call in units.calls] == ["next", "commit", "next"]
    assert folder.outcomes.unit_ids() == []


async def test_an_outcome_that_can_never_be_told_fails_its_event(folder: AgentFolder) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    units = Units(deque([granted(), errors.ResourceExhausted("too large"), ASK, GONE]))
    await serve(units, Web, folder)
    assert units.calls[2] == ("fail", "e1", 1, "too large")


async def test_an_outcome_that_cannot_be_kept_fails_its_event(
    folder: AgentFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Web(charm.Charm):
        """Does nothing."""

    def full(_: Outcome) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(folder.outcomes, "keep", full)
    units = Units(deque([granted(), ASK, GONE]))
    await serve(units, Web, folder)
    assert units.calls[1] == ("fail", "e1", 1, "what it has done cannot be kept: no space left")


def test_two_agents_do_not_share_a_folder(tmp_path: Path) -> None:
    first = AgentFolder.open(tmp_path)
    with pytest.raises(charm.CharmError, match="another agent uses"):
        AgentFolder.open(tmp_path)
    first.close()
    second = AgentFolder.open(tmp_path)
    assert second.engine == first.engine
    second.close()


@pytest.mark.parametrize("name", ["../x", "data/..", "data/", "a/b/c"])
def test_a_storage_stays_below_the_folder(folder: AgentFolder, name: str) -> None:
    with pytest.raises(charm.CharmError, match="no name of a storage"):
        folder.storage("default", name)
