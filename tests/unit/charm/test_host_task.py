"""How an agent runs the tasks of a unit, and reads secrets for its events."""

import asyncio
from collections import deque
from dataclasses import replace

import pytest
from unit.charm.stage import ASK, GONE, UNIT_ID, Units, granted, hosting, serve

from support.waiting import eventually
from tinkwell import charm
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.client import errors
from tinkwell.client.unit.agent import grant as grants
from tinkwell.client.unit.agent.outcome import Outcome
from tinkwell.client.unit.agent.worker import encode
from tinkwell.client.unit.event import EventSecret
from tinkwell.client.unit.task import CANCELLED, Task
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, SecretSet, SecretTrack, TaskOutcome
from tinkwell.core.unit.kinds import EventKind, TaskState

NAME = "9m4e2mr0ui3e8a215n4g"


class Store(charm.Charm):
    """Keeps something."""

    @charm.action()
    async def backup(self, task: charm.Task, *, target: str) -> dict[str, str]:
        task.log("it begins")
        self.state["target"] = target
        return {"path": target}

    @charm.action()
    async def hang(self, task: charm.Task) -> None:
        await asyncio.sleep(3600)

    @charm.action()
    async def fall(self, task: charm.Task) -> None:
        raise RuntimeError("it broke")

    @charm.on.install
    async def install(self, event: charm.Install) -> None:
        content = await self.secrets.get("login")
        assert content == {"password": "r2"}
        self.secrets.set("login", {"password": "new"})
        assert await self.secrets.get("login", refresh=True) == {"password": "new"}

    @charm.on.start
    async def start(self, event: charm.Start) -> None:
        with pytest.raises(charm.SecretMissing, match="it does not exist, or web/0 was not granted it"):
            await self.secrets.get("secret:" + "0" * 20)
        assert await self.secrets.get("secret:" + "2" * 20) == {"password": "r4"}

    @charm.on.secret_changed
    async def changed(self, event: charm.SecretChanged) -> None:
        self.state["changed"] = f"{event.secret} {event.label} {event.revision}"


def asked(name: str, message: str = "") -> Task:
    return Task("t1", unit="web/0", name=name, state=TaskState.RUNNING, message=message)


def task(name: str, **parameters: str) -> grants.Grant:
    return granted(task=replace(asked(name), parameters=parameters))


async def test_a_task_is_kept_and_committed_with_its_result(folder: AgentFolder) -> None:
    found: list[Outcome | None] = []
    units = Units(
        deque([task("backup", target="/srv"), ASK, GONE]), on_commit=lambda: found.append(folder.outcomes.find(UNIT_ID))
    )
    await serve(units, Store, folder)
    outcome = TaskOutcome(state=TaskState.SUCCEEDED, result='{"path":"/srv"}')
    effects = encode(Effects(state={"target": "/srv"}))
    assert units.calls == [("next", 4), ("commit", "t1", 1, effects, outcome), ("next", 4)]
    assert found == [Outcome(unit_id=UNIT_ID, event_id="t1", attempt=1, lease_token=4, effects=effects, task=outcome)]
    assert units.told == [("t1", 1, "it begins")]
    assert units.lines == []
    assert folder.outcomes.unit_ids() == []


@pytest.mark.parametrize(
    ("name", "message"),
    [("fall", "RuntimeError: it broke"), ("unknown", "the charm has no action unknown")],
)
async def test_a_task_that_fails_is_committed_without_effects(folder: AgentFolder, name: str, message: str) -> None:
    units = Units(deque([task(name), GONE]))
    await serve(units, Store, folder)
    outcome = TaskOutcome(state=TaskState.FAILED, message=message)
    assert units.calls == [("next", 4), ("commit", "t1", 1, encode(NO_EFFECTS), outcome)]


async def test_a_task_has_a_deadline(folder: AgentFolder) -> None:
    units = Units(deque([granted(task=asked("hang"), timeout_seconds=0.01), GONE]))
    await serve(units, Store, folder)
    outcome = TaskOutcome(state=TaskState.TIMEOUT, message="it was not done within 0.01 seconds")
    assert units.calls[1][-1] == outcome


async def test_a_task_that_is_cancelled_is_ended(folder: AgentFolder) -> None:
    again = granted(task=asked("hang", message=CANCELLED))
    units = Units(deque([task("hang"), again, GONE]))
    async with hosting(units, Store, folder) as host:
        serving = asyncio.create_task(host.run())
        await eventually(lambda: len(units.calls) == 1)
        host.wake()
        await serving
    assert units.calls[-1] == (
        *("commit", "t1", 1, encode(NO_EFFECTS)),
        TaskOutcome(state=TaskState.CANCELLED, message="it was cancelled"),
    )


async def test_a_task_that_was_cancelled_before_it_begins_is_not_run(folder: AgentFolder) -> None:
    units = Units(deque([granted(task=asked("backup", message=CANCELLED)), GONE]))
    await serve(units, Store, folder)
    assert units.calls[-1][-1] == TaskOutcome(state=TaskState.CANCELLED, message="it was cancelled")
    assert units.told == []


async def test_a_result_that_the_server_does_not_take_is_a_failure(folder: AgentFolder) -> None:
    units = Units(deque([task("backup", target="/srv"), errors.ResourceExhausted("it is too large"), GONE]))
    await serve(units, Store, folder)
    assert units.calls[-1][-1] == TaskOutcome(state=TaskState.FAILED, message="it is too large")


async def test_what_a_predecessor_has_kept_of_a_task_is_sent(folder: AgentFolder) -> None:
    outcome = TaskOutcome(state=TaskState.SUCCEEDED, result="{}")
    kept = Outcome(unit_id=UNIT_ID, event_id="t0", attempt=1, lease_token=2, effects=b"", task=outcome)
    folder.outcomes.keep(kept)
    units = Units(deque([GONE]))
    await serve(units, Store, folder)
    assert units.calls == [("commit", "t0", 1, b"", outcome)]


async def test_secrets_are_read_once_and_tracked(folder: AgentFolder) -> None:
    login = grants.GrantedSecret(
        id=NAME, owner="web/0", owned=True, label="login", latest=4, tracked=2, revisions=(2, 4)
    )
    units = Units(deque([granted(secrets=(login,)), GONE]))
    await serve(units, Store, folder)
    effects = Effects(
        secrets=(SecretSet(id=NAME, content={"password": "new"}), SecretTrack(id=NAME, revision=5)),
    )
    assert units.calls == [("next", 4), ("read", "e1", NAME, 2), ("commit", "e1", 1, encode(effects), False)]


async def test_what_may_not_be_read_is_told_to_the_charm(folder: AgentFolder) -> None:
    units = Units(deque([granted(EventKind.START), GONE]))
    await serve(units, Store, folder)
    effects = Effects(secrets=(SecretTrack(id="2" * 20, revision=4),))
    assert units.calls[-1] == ("commit", "e1", 1, encode(effects), False)


async def test_an_event_of_a_secret_has_the_label_that_the_unit_has_given_it(folder: AgentFolder) -> None:
    known = grants.GrantedSecret(id=NAME, owner="pg", label="mine", latest=3, tracked=2)
    about = granted(EventKind.SECRET_CHANGED, secrets=(known,))
    given = replace(about, event=replace(about.event, secret=EventSecret(NAME, "", 3)))
    units = Units(deque([given, GONE]))
    await serve(units, Store, folder)
    effects = Effects(state={"changed": f"secret:{NAME} mine 3"})
    assert units.calls[-1] == ("commit", "e1", 1, encode(effects), False)
