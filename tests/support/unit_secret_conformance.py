"""What every server answers about secrets and tasks of units, to people and to the agents of the units."""

import asyncio
import datetime
import re
import uuid
from collections.abc import Awaitable, Callable

import pytest

from support.unit_agent import DONE, Agent, Handler, deploy
from tinkwell.client import Client, Grant, errors
from tinkwell.core.unit import effect
from tinkwell.core.unit.effect import NO_EFFECTS, BagEdit, Effects, TaskOutcome
from tinkwell.core.unit.kinds import EventState, Owner, Rotation, TaskKind, TaskState

Check = Callable[[Client], Awaitable[None]]
CHECKS: list[Check] = []

S1, S2 = "c8rkvt3mp25c783t5f1g", "0123456789abcdefghij"
PASSWORD = {"password": "hunter2-of-the-first-kind"}
OTHER = {"password": "hunter2-of-another-kind"}


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


async def related(client: Client) -> tuple[Agent, int]:
    """Deploy web and pg, which are related; all is told."""
    agent = await deploy(client, "pg", "web")
    number = (await client.applications.relate("web", "pg")).number
    await agent.run()
    return agent, number


async def granted(client: Client, agent: Agent, unit: str) -> Grant:
    """Have a unit be granted config-changed."""
    application = unit.partition("/")[0]
    await client.applications.set_config(application, {"title": str(uuid.uuid4())})
    found = await client.units.next_event(agent.token, (await client.applications.unit(unit)).id)
    assert isinstance(found, Grant)
    assert found.event.name == "config-changed"
    return found


async def do(client: Client, agent: Agent, *edits: effect.SecretEffect) -> None:
    """Have web/0 do something with secrets."""
    grant = await granted(client, agent, "web/0")
    term = grant.leadership.term
    await client.units.commit(agent.token, grant.event.id, 1, Effects(secrets=edits, term=term))


def keep(grants: list[Grant]) -> Handler:
    """Return a handler that keeps what it is granted."""

    def handle(grant: Grant) -> Effects:
        grants.append(grant)
        return NO_EFFECTS

    return handle


@check
async def a_secret_is_read_by_whom_it_was_granted_to(client: Client) -> None:
    agent, number = await related(client)
    await do(
        client,
        agent,
        effect.SecretAdd(id=S1, content=PASSWORD, label="root", description="of the page", is_application=True),
        effect.SecretGrant(id=S1, relation=number),
    )
    found = await client.secrets.get(S1)
    assert (found.name, found.owner, found.label, found.latest) == (S1, "web", "root", 1)
    assert [(each.relation, each.application, each.unit) for each in found.grants] == [(number, "pg", "")]
    seen: list[tuple[int, dict[str, str]]] = []
    unit = await client.applications.unit("pg/0")
    await client.applications.collect_metrics("pg/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    assert grant.secrets == ()
    read = await client.units.read_secret(agent.token, grant.event.id, S1)
    seen.append((read.revision, dict(read.content)))
    assert seen == [(1, PASSWORD)]
    assert PASSWORD["password"] not in repr(read)
    for wanted, label, revision in ((S2, "", 0), ("", "nobody has given it", 0), (S1, "", 7)):
        with pytest.raises(errors.NotFound):
            await client.units.read_secret(agent.token, grant.event.id, wanted, label=label, revision=revision)
    track = effect.SecretTrack(id=S1, revision=1, label="db")
    await client.units.commit(agent.token, grant.event.id, 1, Effects(secrets=(track,)))
    assert [each.readers for each in (await client.secrets.get(S1)).revisions] == [("pg/0",)]
    await do(client, agent, effect.SecretSet(id=S1, content=OTHER))
    changed: list[Grant] = []
    agent.handlers["secret-changed"] = keep(changed)
    await agent.run()
    (told,) = changed
    assert told.event.secret is not None
    assert (told.unit, told.event.secret.id, told.event.secret.label) == ("pg/0", S1, "db")
    (known,) = told.secrets
    assert (known.owner, known.owned, known.label, known.tracked, known.latest) == ("web", False, "db", 1, 2)


@check
async def an_owner_knows_its_secrets_and_is_told_what_nobody_reads(client: Client) -> None:
    agent, _ = await related(client)
    await do(client, agent, effect.SecretAdd(id=S1, content=PASSWORD, label="root", rotation=Rotation.WEEKLY))
    await do(client, agent, effect.SecretSet(id=S1, content=OTHER))
    told: list[Grant] = []
    agent.handlers["secret-remove"] = keep(told)
    await agent.run()
    (grant,) = told
    assert grant.event.secret is not None
    assert (grant.event.secret.id, grant.event.secret.revision, grant.event.secret.label) == (S1, 1, "root")
    (known,) = grant.secrets
    assert (known.owner, known.owned, known.rotation, known.latest) == ("web/0", True, Rotation.WEEKLY, 2)
    assert known.revisions == (1, 2)
    assert known.rotates_at is not None
    await do(client, agent, effect.SecretRemove(id=S1, revision=1))
    assert [each.revision for each in (await client.secrets.get(S1)).revisions] == [2]
    await do(client, agent, effect.SecretRemove(id=S1))
    with pytest.raises(errors.NotFound):
        await client.secrets.get(S1)


@check
async def an_expiry_that_is_over_is_told_once(client: Client) -> None:
    agent, _ = await related(client)
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=5)
    await do(client, agent, effect.SecretAdd(id=S1, content=PASSWORD, expires_at=past))
    await agent.run()
    assert agent.events("web/0").count("secret-expired") == 1
    await do(client, agent, effect.SecretSet(id=S1, expires_at=past))
    await agent.run()
    assert agent.events("web/0").count("secret-expired") == 2


@check
async def what_a_unit_may_not_do_to_secrets_is_refused_and_its_event_has_failed(client: Client) -> None:
    agent, number = await related(client)
    wrong: list[tuple[effect.SecretEffect, str]] = [
        (effect.SecretAdd(id="x", content=PASSWORD), r"effects\.secrets\[0\]"),
        (effect.SecretAdd(id=S1, content={"no": "x"}), r"effects\.secrets\[0\]"),
        (effect.SecretSet(id=S2, content=PASSWORD), "owns no secret"),
        (effect.SecretTrack(id=S2, revision=1), "may not read a secret"),
        (effect.SecretGrant(id=S2, relation=number), "owns no secret"),
    ]
    for edit, message in wrong:
        grant = await granted(client, agent, "web/0")
        with pytest.raises(errors.CommitRefused, match=message) as caught:
            await client.units.commit(agent.token, grant.event.id, grant.event.attempt, Effects(secrets=(edit,)))
        assert PASSWORD["password"] not in str(caught.value)
        event = (await client.applications.unit("web/0")).event
        assert event is not None
        assert event.state is EventState.ERROR
        await client.applications.resolve("web/0", skip=True)
    assert [each async for each in client.secrets.list()] == []


@check
async def what_is_larger_than_the_server_takes_is_not_sent_and_says_what_it_is(client: Client) -> None:
    agent, _ = await related(client)
    grant = await granted(client, agent, "web/0")
    large = {"password": "h" * ((1 << 20) - 100)}
    edits = tuple(effect.SecretAdd(id=f"{number:020}", content=large) for number in range(5))
    with pytest.raises(errors.InvalidField) as refused:
        await client.units.commit(agent.token, grant.event.id, 1, Effects(secrets=edits))
    said = str(refused.value)
    assert re.search("at most 4,194,304 may be; most of it, 5,[0-9]{3},[0-9]{3} bytes, is in secrets", said)
    assert "hhh" not in said
    # The event still runs, and less of it is taken.
    await client.units.commit(agent.token, grant.event.id, 1, Effects(secrets=edits[:3]))
    assert len([each async for each in client.secrets.list(owner="web/0")]) == 3


@check
async def a_users_secret_is_made_changed_granted_and_revealed(client: Client) -> None:
    agent, _ = await related(client)
    id_ = str(uuid.uuid4())
    made = await client.secrets.create(PASSWORD, label="api", description="of a cloud", id=id_)
    assert (made.id, made.owner, made.label, made.latest) == (id_, "", "api", 1)
    assert (await client.secrets.create(PASSWORD, label="api", description="of a cloud", id=id_)).name == made.name
    with pytest.raises(errors.AlreadyExists):
        await client.secrets.create(PASSWORD, label="api")
    with pytest.raises(errors.InvalidField, match="content"):
        await client.secrets.create({"A": "x"})
    assert (await client.secrets.update("api", OTHER)).latest == 2
    assert [each.name async for each in client.secrets.list()] == [made.name]
    found = await client.secrets.reveal("api")
    assert (found.revision, found.content) == (2, OTHER)
    assert (await client.secrets.reveal(made.name, revision=1)).content == PASSWORD
    granted_ = await client.secrets.grant("api", "web")
    assert [(each.relation, each.application) for each in granted_.grants] == [(0, "web")]
    grant = await granted(client, agent, "web/0")
    read = await client.units.read_secret(agent.token, grant.event.id, made.name)
    assert (read.id, read.revision, read.content) == (made.name, 2, OTHER)
    assert (await client.secrets.revoke("api", "web")).grants == ()
    with pytest.raises(errors.NotFound):
        await client.units.read_secret(agent.token, grant.event.id, made.name)
    await client.secrets.remove("api", revision=1)
    await client.units.commit(
        agent.token, grant.event.id, 1, Effects(secrets=(effect.SecretAdd(id=S1, content=PASSWORD),))
    )
    with pytest.raises(errors.IllegalTransition):
        await client.secrets.update(S1, OTHER)
    await client.secrets.remove("api")
    for wanted in ("api", made.name):
        with pytest.raises(errors.NotFound):
            await client.secrets.get(wanted)


@check
async def what_a_secret_holds_is_in_no_event(client: Client) -> None:
    agent, number = await related(client)
    edits = (effect.SecretAdd(id=S1, content=PASSWORD), effect.SecretGrant(id=S1, relation=number))
    await do(client, agent, *edits)
    await client.secrets.create(OTHER, label="api")
    await agent.run()
    texts: list[str] = []
    async with asyncio.timeout(20):
        async for event in client.secrets.watch():
            texts.append(str(event.data))
            if event.data["label"] == "api":
                break
    assert S1 in texts[0]
    assert not any("hunter2" in text for text in texts)


@check
async def a_unit_runs_the_actions_of_its_charm(client: Client) -> None:
    agent, number = await related(client)
    task = await client.applications.run("web/leader", "backup", target="s3")
    assert (task.unit, task.kind, task.state) == ("web/0", TaskKind.ACTION, TaskState.PENDING)
    assert (task.name, task.parameters) == ("backup", {"target": "s3", "level": 3})
    edit = BagEdit(relation=number, owner=Owner.UNIT, edits={"backup": "done"})

    def backup(grant: Grant) -> tuple[TaskOutcome, Effects]:
        assert grant.task is not None
        assert (grant.event.id, grant.task.id, grant.task.state) == (task.id, task.id, TaskState.RUNNING)
        assert grant.task.parameters == {"target": "s3", "level": 3}
        assert grant.config == {"workers": 2}
        return TaskOutcome(state=TaskState.SUCCEEDED, result='{"size": 7}'), Effects(bags=(edit,))

    agent.actions["backup"] = backup
    await agent.run()
    ended = await client.applications.task(task.id)
    assert (ended.state, ended.result) == (TaskState.SUCCEEDED, {"size": 7})
    assert ended.started_at is not None
    assert ended.finished_at is not None
    assert agent.events("pg/0")[-1] == "db-relation-changed"
    assert [each.id async for each in client.applications.tasks("web")] == [task.id]
    assert [each.id async for each in client.applications.tasks("web/0")] == [task.id]


@check
async def parameters_are_checked_against_what_the_charm_says(client: Client) -> None:
    await related(client)
    for wrong in ({}, {"target": 3}, {"target": "s3", "level": 0}, {"target": "s3", "size": 1}):
        with pytest.raises(errors.InvalidField, match="parameters"):
            await client.applications.run("web/0", "backup", wrong)
    with pytest.raises(errors.InvalidField, match="action"):
        await client.applications.run("web/0", "restore")
    with pytest.raises(errors.NotFound):
        await client.applications.run("web/9", "backup", target="s3")


@check
async def a_repeated_request_is_one_task_and_a_repeated_end_is_one(client: Client) -> None:
    agent, _ = await related(client)
    id_ = str(uuid.uuid4())
    for _ in range(2):
        assert (await client.applications.run("web/0", "backup", target="s3", id=id_)).id == id_
    for named, timeout_seconds in (({"target": "s4"}, 0), ({"target": "s3"}, 7)):
        with pytest.raises(errors.AlreadyExists):
            await client.applications.run("web/0", "backup", named, timeout_seconds=timeout_seconds, id=id_)
    unit = await client.applications.unit("web/0")
    for _ in range(2):
        grant = await client.units.next_event(agent.token, unit.id)
        assert isinstance(grant, Grant)
        assert grant.event.id == id_
    await client.units.append_task_log(agent.token, id_, 1, ["one", "two"])
    await client.units.append_task_log(agent.token, id_, 2, ["two again", "three"])
    for _ in range(2):
        await client.units.commit(agent.token, id_, 1, NO_EFFECTS, task=DONE)
    assert (await client.applications.task(id_)).log == ("one", "two", "three")
    assert len([each async for each in client.applications.tasks("web")]) == 1


@check
async def a_task_that_fails_leaves_nothing(client: Client) -> None:
    agent, number = await related(client)
    task = await client.applications.run("web/0", "backup", target="s3")
    edit = BagEdit(relation=number, owner=Owner.UNIT, edits={"backup": "done"})
    outcome = TaskOutcome(state=TaskState.FAILED, message="the disk is full")
    agent.actions["backup"] = lambda _: (outcome, Effects(bags=(edit,)))
    await agent.run()
    ended = await client.applications.task(task.id)
    assert (ended.state, ended.message) == (TaskState.FAILED, "the disk is full")
    found = await client.applications.relation(number, with_bags=True)
    assert not any("backup" in bag.data for bag in found.bags)
    wrong = BagEdit(relation=99, owner=Owner.UNIT, edits={"backup": "done"})
    agent.actions["backup"] = lambda _: (DONE, Effects(bags=(wrong,)))
    refused = await client.applications.run("web/0", "backup", target="s3")
    with pytest.raises(errors.CommitRefused):
        await agent.run()
    assert (await client.applications.task(refused.id)).state is TaskState.FAILED


@check
async def a_task_is_cancelled_at_once_or_by_its_agent(client: Client) -> None:
    agent, _ = await related(client)
    first, second = [await client.applications.run("web/0", "backup", target="s3") for _ in range(2)]
    unit = await client.applications.unit("web/0")
    grant = await client.units.next_event(agent.token, unit.id)
    assert isinstance(grant, Grant)
    assert grant.event.id == first.id
    assert (await client.applications.cancel(second.id)).state is TaskState.CANCELLED
    assert (await client.applications.cancel(first.id)).state is TaskState.RUNNING
    again = await client.units.next_event(agent.token, unit.id)
    assert isinstance(again, Grant)
    assert again.task is not None
    assert (again.task.id, again.task.is_cancelled) == (first.id, True)
    await client.units.commit(agent.token, first.id, 1, task=TaskOutcome(state=TaskState.CANCELLED))
    assert (await client.applications.task(first.id)).state is TaskState.CANCELLED
    done = await client.applications.run("web/0", "backup", target="s3")
    await agent.run()
    with pytest.raises(errors.IllegalTransition):
        await client.applications.cancel(done.id)


@check
async def a_task_runs_while_an_event_has_failed_and_no_event_runs_beside_it(client: Client) -> None:
    agent, _ = await related(client)
    grant = await granted(client, agent, "web/0")
    await client.units.fail(agent.token, grant.event.id, 1, "exit 1")
    task = await client.applications.run("web/0", "backup", target="s3")
    found = await client.units.next_event(agent.token, grant.unit_id)
    assert isinstance(found, Grant)
    assert found.event.id == task.id
    await client.applications.resolve("web/0")
    again = await client.units.next_event(agent.token, grant.unit_id)
    assert isinstance(again, Grant)
    assert again.event.id == task.id
    following = await client.units.commit(agent.token, task.id, 1, task=DONE)
    assert isinstance(following, Grant)
    assert (following.event.id, following.event.attempt) == (grant.event.id, 2)


@check
async def a_task_whose_agent_was_lost_has_failed_and_is_not_repeated(client: Client) -> None:
    agent, _ = await related(client)
    task = await client.applications.run("web/0", "backup", target="s3")
    unit = await client.applications.unit("web/0")
    assert isinstance(await client.units.next_event(agent.token, unit.id), Grant)
    other = await Agent.enter(client)
    assert other.token != agent.token
    await other.run()
    ended = await client.applications.task(task.id)
    assert (ended.state, ended.message) == (TaskState.FAILED, "its agent was lost")
    assert "task backup" not in other.events("web/0")


@check
async def the_tasks_of_a_unit_that_is_removed_are_cancelled(client: Client) -> None:
    agent, _ = await related(client)
    task = await client.applications.run("web/0", "backup", target="s3")
    await client.applications.remove_unit("web/0")
    assert (await client.applications.task(task.id)).state is TaskState.CANCELLED
    with pytest.raises(errors.IllegalTransition):
        await client.applications.run("web/0", "backup", target="s3")
    await agent.run()
    assert "task backup" not in agent.events("web/0")
