"""How an agent serves one unit: what it says of each attempt, and what it keeps until that is heard."""

import asyncio
import dataclasses
import logging
from collections import deque
from pathlib import Path

import pytest
from unit.charm.stage import ASK, GONE, QUIET, UNIT_ID, Units, granted, hosting, serve

from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.client import errors
from tinkwell.client.unit.agent.grant import GrantedRelation, Leadership, NoEvent, NoEventReason
from tinkwell.client.unit.agent.outcome import Outcome
from tinkwell.client.unit.agent.worker import encode
from tinkwell.client.unit.event import EventRelation
from tinkwell.client.unit.model import UnitStatus
from tinkwell.core.unit.effect import NO_EFFECTS
from tinkwell.core.unit.kinds import EventKind


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
        [errors.SecretsDisabled("no keys")],
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
        # As of a file whose name is no text.
        (FileNotFoundError("no \udcff and \0"), "FileNotFoundError: no ? and \ufffd"),
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


async def test_a_handler_of_a_unit_that_is_gone_is_ended(folder: AgentFolder) -> None:
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
    async with hosting(units, Web, folder, look_seconds=0.0) as host:
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


class Idle(charm.Charm):
    """Does nothing."""


@pytest.mark.parametrize("answer", [errors.LeaseHeld("another has it"), errors.InvalidField.of("unit_id", "is odd")])
async def test_a_unit_that_is_not_given_is_asked_for_again_later(folder: AgentFolder, answer: errors.Error) -> None:
    units = Units(deque([answer, GONE]))
    await serve(units, Idle, folder, held_seconds=0.0)
    assert units.calls == [("next", 4), ("next", 4)]


async def test_a_unit_of_another_charm_is_left_and_that_is_said_once(
    folder: AgentFolder, caplog: pytest.LogCaptureFixture
) -> None:
    other = NoEvent(reason=NoEventReason.OTHER_CHARM, due_in_seconds=0.0)
    await serve(Units(deque([other, other, errors.NotFound("gone")])), Idle, folder)
    assert [each.message for each in caplog.records].count(
        "the unit runs on another charm; upgrade its application to this one, or start an agent with that"
    ) == 1


async def test_what_concerns_the_whole_agent_ends_it(folder: AgentFolder) -> None:
    with pytest.raises(errors.PermissionDenied):
        await serve(Units(deque([errors.PermissionDenied("agents may not")])), Idle, folder)
