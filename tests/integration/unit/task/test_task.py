"""A task is run once, between the events of its unit, and ends with all of its effects or none."""

import asyncio
import json

import grpc
import pytest
from integration.unit.task.conftest import Stage

from support import edge, role
from support.application_site import refusal
from support.unit_site import bag, edits
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.agent.reaping import Reaping
from tinkwell.server.unit.service.task.ending import GRACE_SECONDS, TaskEnding

pytestmark = pytest.mark.asyncio


async def test_a_task_is_granted_run_and_ended_with_its_effects(stage: Stage) -> None:
    asked = await stage.run("backup", parameters='{"level": 2}', timeout_seconds=60)
    assert (asked.state, asked.unit, json.loads(asked.parameters)) == (
        pb.TASK_STATE_PENDING,
        "web/0",
        {"level": 2, "target": "disk"},
    )
    granted = (await stage.agent.next(stage.unit)).grant
    assert not granted.HasField("event")
    assert (granted.task.id, granted.task.state, granted.charm) == (
        asked.id,
        pb.TASK_STATE_RUNNING,
        (await stage.site.unit("web/0")).charm,
    )
    assert 0 < granted.timeout_seconds <= 60
    assert [each.endpoint for each in granted.relations] == ["cluster"]
    cluster = granted.relations[0].number
    await stage.site.units.AppendTaskLog(
        unit_pb.AppendTaskLogRequest(
            lease_token=stage.agent.token, task_id=asked.id, number=1, lines=["begins", "goes on"]
        )
    )
    effects = {"bags": [bag(cluster, copy="1")], "state": edits(copies="1")}
    following = await stage.agent.end(stage.unit, result='{"size": 7}', effects=effects)
    # In a relation of one unit nobody is told of that.
    assert following.none.reason == unit_pb.NO_EVENT_REASON_NOTHING_DUE
    ended = await stage.task(asked)
    assert (ended.state, ended.result, list(ended.log)) == (
        pb.TASK_STATE_SUCCEEDED,
        '{"size": 7}',
        ["begins", "goes on"],
    )
    assert ended.finished_at.ToMilliseconds() >= ended.started_at.ToMilliseconds()
    relation = await stage.site.apps.GetRelation(pb.GetRelationRequest(number=cluster, with_bags=True))
    assert {each.owner: dict(each.data) for each in relation.bags}["web/0"] == {"copy": "1"}
    assert await stage.names() == ["task.created", "task.started", "task.succeeded"]
    told = await stage.site.sql.fetchval(
        "SELECT data::text FROM events WHERE name = 'task.succeeded' AND parent_id = $1::text::uuid",
        ended.application_id,
    )
    assert "size" not in told
    assert "level" not in told


async def test_an_end_that_is_told_twice_is_answered_twice_and_another_one_is_refused(stage: Stage) -> None:
    await stage.run()
    await stage.agent.next(stage.unit)
    request = stage.agent.ending(stage.unit, "FAILED", message="no room")
    first = await stage.site.units.CommitEvent(request)
    second = await stage.site.units.CommitEvent(request)
    assert first.next.none.reason == second.next.none.reason == unit_pb.NO_EVENT_REASON_NOTHING_DUE
    told = await edge.refused(stage.site.units.CommitEvent(stage.agent.ending(stage.unit)))
    assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL_TRANSITION")


async def test_who_asks_again_is_granted_the_same_task_and_told_that_it_was_cancelled(stage: Stage) -> None:
    asked = await stage.run()
    assert (await stage.agent.next(stage.unit)).grant.task.id == asked.id
    assert (await stage.agent.next(stage.unit)).grant.task.message == ""
    cancelled = await stage.site.apps.CancelTask(pb.CancelTaskRequest(id=asked.id))
    assert cancelled.state == pb.TASK_STATE_RUNNING
    again = (await stage.agent.next(stage.unit)).grant.task
    assert (again.id, again.state, again.message) == (asked.id, pb.TASK_STATE_RUNNING, "cancelled")
    await stage.agent.end(stage.unit, "CANCELLED", message="killed")
    assert await stage.state(asked) == "CANCELLED killed"
    assert (await stage.site.apps.CancelTask(pb.CancelTaskRequest(id=asked.id))).state == pb.TASK_STATE_CANCELLED
    assert await stage.names() == ["task.created", "task.started", "task.updated", "task.cancelled"]


async def test_a_task_that_waits_is_cancelled_at_once_and_never_granted(stage: Stage) -> None:
    first, second = await stage.run(), await stage.run()
    await stage.site.apps.CancelTask(pb.CancelTaskRequest(id=first.id))
    assert (await stage.state(first)).startswith("CANCELLED")
    assert (await stage.agent.next(stage.unit)).grant.task.id == second.id
    await stage.agent.end(stage.unit)
    told = await refusal(stage.site.apps.CancelTask(pb.CancelTaskRequest(id=second.id)))
    assert told.reason == "ILLEGAL_TRANSITION"
    listed = [each.id async for each in stage.site.apps.ListTasks(pb.ListTasksRequest(name="web"))]
    assert listed == [second.id, first.id]


async def test_events_wait_for_a_task_and_a_task_comes_before_most_events(stage: Stage) -> None:
    await stage.site.apps.SetConfig(pb.SetConfigRequest(application="web", config="{}"))
    await stage.site.sql.execute("UPDATE application SET config_version = config_version + 1")
    first, second = await stage.run(), await stage.run()
    assert (await stage.agent.next(stage.unit)).grant.task.id == first.id
    assert (await stage.agent.end(stage.unit)).grant.task.id == second.id
    assert (await stage.agent.end(stage.unit)).grant.event.kind == "config-changed"
    third = await stage.run()
    assert (await stage.agent.next(stage.unit)).grant.event.kind == "config-changed"
    assert (await stage.agent.commit(stage.unit)).grant.task.id == third.id


async def test_a_task_runs_while_an_event_has_failed(stage: Stage) -> None:
    await stage.site.sql.execute("UPDATE application SET config_version = config_version + 1")
    await stage.agent.next(stage.unit)
    assert (await stage.agent.fail(stage.unit)).none.reason == unit_pb.NO_EVENT_REASON_IN_ERROR
    asked = await stage.run()
    assert (await stage.agent.next(stage.unit)).grant.task.id == asked.id
    assert (await stage.agent.end(stage.unit)).none.reason == unit_pb.NO_EVENT_REASON_IN_ERROR
    assert await stage.state(asked) == "SUCCEEDED"


async def test_a_lost_task_has_failed_and_never_runs_again(stage: Stage) -> None:
    asked = await stage.run()
    await stage.agent.next(stage.unit)
    await stage.site.sql.execute("UPDATE lease SET expires_at = clock_timestamp() WHERE token = $1", stage.agent.token)
    other = await stage.site.agent("b")
    assert (await other.next(stage.unit)).none.reason == unit_pb.NO_EVENT_REASON_NOTHING_DUE
    assert await stage.state(asked) == "FAILED its agent was lost"
    told = await edge.refused(stage.site.units.CommitEvent(stage.agent.ending(stage.unit)))
    assert told.reason == "LEASE_LOST"


async def test_an_agent_that_comes_back_ends_the_task_that_it_has_run_under_its_former_token(stage: Stage) -> None:
    asked = await stage.run()
    await stage.agent.next(stage.unit)
    again = await stage.site.agent()
    assert again.token != stage.agent.token
    again.grants[stage.unit] = stage.agent.grants[stage.unit]
    await again.end(stage.unit)
    assert await stage.state(asked) == "SUCCEEDED"
    asked = await stage.run()
    await again.next(stage.unit)
    third = await stage.site.agent()
    assert (await third.next(stage.unit)).none.reason == unit_pb.NO_EVENT_REASON_NOTHING_DUE
    assert await stage.state(asked) == "FAILED its agent was lost"


async def test_effects_that_a_unit_may_not_have_fail_its_task(stage: Stage) -> None:
    asked = await stage.run()
    await stage.agent.next(stage.unit)
    effects = {"bags": [bag(99, a="b")]}
    told = await edge.refused(stage.site.units.CommitEvent(stage.agent.ending(stage.unit, effects=effects)))
    assert told.reason == "COMMIT_REFUSED"
    assert (await stage.state(asked)).startswith("FAILED refused: effects.bags[0].relation")


async def test_what_a_failed_task_leaves_is_not_written(stage: Stage) -> None:
    await stage.run()
    await stage.agent.next(stage.unit)
    await stage.agent.end(stage.unit, "FAILED", message="exit 1", effects={"state": edits(a="1")})
    assert await stage.site.count("unit_state") == 0


@pytest.mark.parametrize("is_forced", [False, True])
async def test_a_removed_unit_cancels_what_waits_and_ends_what_runs_by_force_alone(
    stage: Stage, is_forced: bool
) -> None:
    first, second = await stage.run(), await stage.run()
    await stage.agent.next(stage.unit)
    await stage.site.apps.RemoveUnit(pb.RemoveUnitRequest(unit="web/0", force=is_forced))
    if is_forced:
        # With its unit's row all of it goes at once; the log has told how it ended.
        assert (await stage.names())[-2:] == ["task.cancelled", "task.cancelled"]
        return
    assert await stage.state(first) == "RUNNING"
    assert await stage.state(second) == "CANCELLED its unit is being removed"
    assert (await refusal(stage.run())).reason == "ILLEGAL_TRANSITION"
    assert (await stage.agent.end(stage.unit)).grant.event.kind == "stop"


async def test_a_task_past_its_time_is_ended_by_the_server(stage: Stage, database_url: str) -> None:
    asked = await stage.run(timeout_seconds=1)
    await stage.agent.next(stage.unit)
    pool = engine.create(role.url_of_server(database_url), pool_size=2)
    database = Database(pool)
    ending = TaskEnding(database, Reaping(database), SecretService(None))
    await ending.end_overdue()
    assert await stage.state(asked) == "RUNNING"
    await stage.site.sql.execute(
        "UPDATE task SET deadline_at = clock_timestamp() - make_interval(secs => $1)", GRACE_SECONDS + 1
    )
    await ending.end_overdue()
    await pool.dispose()
    assert await stage.state(asked) == "TIMEOUT its time is over, and nobody ended it"
    told = await edge.refused(stage.site.units.CommitEvent(stage.agent.ending(stage.unit)))
    assert told.reason == "ILLEGAL_TRANSITION"
    assert (await stage.agent.next(stage.unit)).none.reason == unit_pb.NO_EVENT_REASON_NOTHING_DUE


async def test_a_cancel_and_an_end_at_once_leave_one_of_both(stage: Stage) -> None:
    for _ in range(10):
        asked = await stage.run()
        await stage.agent.next(stage.unit)
        cancel = pb.CancelTaskRequest(id=asked.id)
        ended, cancelled = await asyncio.gather(
            stage.site.units.CommitEvent(stage.agent.ending(stage.unit)),
            stage.site.apps.CancelTask(cancel),
            return_exceptions=True,
        )
        assert not isinstance(ended, BaseException)
        if isinstance(cancelled, grpc.aio.AioRpcError):
            assert edge.refusal(cancelled).reason == "ILLEGAL_TRANSITION"
        assert await stage.state(asked) == "SUCCEEDED"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"action": "bakup"}, "action"),
        ({"action": "backup"}, "parameters.level"),
        ({"action": "backup", "parameters": '{"level": "two"}'}, "parameters.level"),
        ({"action": "backup", "parameters": '{"level": 1, "more": 1}'}, "parameters.more"),
        ({"action": "backup", "parameters": "[]"}, "parameters"),
        ({"action": "", "arguments": [""]}, "arguments[0]"),
        ({"action": "", "arguments": ["a\0b"]}, "arguments[0]"),
        ({"action": "ping", "arguments": ["ls"]}, "action"),
        ({"action": ""}, "action"),
        ({"action": "ping", "timeout_seconds": -1}, "timeout_seconds"),
        ({"action": "ping", "id": "x"}, "id"),
    ],
)
async def test_wrong_tasks_are_refused_by_the_field_that_is_wrong(
    stage: Stage, request_: dict[str, object], field: str
) -> None:
    told = await refusal(stage.run(**request_))  # type: ignore[arg-type]
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert field in told.fields


async def test_a_repeated_request_changes_nothing(stage: Stage) -> None:
    task_id = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a77"
    first, second = await stage.run(id=task_id), await stage.run(id=task_id)
    assert first == second
    assert await stage.run(id=task_id, timeout_seconds=3600) == first
    told = await refusal(stage.run(id=task_id, parameters='{"level": 1}'))
    assert (told.reason, "other parameters" in told.message) == ("ALREADY_EXISTS", True)
    told = await refusal(stage.run(id=task_id, timeout_seconds=7))
    assert (told.reason, "another timeout_seconds" in told.message) == ("ALREADY_EXISTS", True)


async def test_the_leader_is_asked_by_that_name_and_commands_run_where_they_are_allowed(stage: Stage) -> None:
    asked = await stage.site.apps.RunTask(pb.RunTaskRequest(unit="web/leader", arguments=["ls", "-l"]))
    assert (asked.unit, asked.kind, list(asked.arguments)) == ("web/0", pb.TASK_KIND_EXEC, ["ls", "-l"])


async def test_the_outcome_that_an_agent_has_left_is_heard_from_who_follows_it(stage: Stage) -> None:
    asked = await stage.run()
    await stage.agent.next(stage.unit)
    # It begins anew, and waits for the folder that the other one has, which serves the units.
    await stage.site.agent()
    heir = await stage.site.agent("b")
    heir.grants = stage.agent.grants
    await stage.site.units.AppendTaskLog(
        unit_pb.AppendTaskLogRequest(lease_token=heir.token, task_id=asked.id, number=1, lines=["done"])
    )
    await heir.end(stage.unit, result='{"size": 7}')
    ended = await stage.task(asked)
    assert (ended.state, ended.result, list(ended.log)) == (pb.TASK_STATE_SUCCEEDED, '{"size": 7}', ["done"])
    holder = await stage.site.sql.fetchval("SELECT l.owner FROM unit u JOIN lease l ON l.id = u.lease_id")
    assert holder == "b"


async def test_the_newest_ended_tasks_are_kept(stage: Stage) -> None:
    await stage.site.sql.execute(
        """
        INSERT INTO task (namespace, application_id, unit_id, unit, kind, name, timeout_seconds)
        SELECT namespace, application_id, id, name, 'ACTION', 'ping', 60 FROM unit, generate_series(1, 1010)
        """
    )
    await stage.site.sql.execute("UPDATE task SET state = 'CANCELLED'")
    asked = await stage.run()
    assert await stage.site.count("task") == 1_001
    assert await stage.state(asked) == "PENDING"
