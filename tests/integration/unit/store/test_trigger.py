"""Each change of an application and of what belongs to it is an event, whoever makes it; illegal ones are refused."""

import json
from typing import Any

import asyncpg
import pytest

from support.unit_rows import DIGEST, Rows

LOG = """
    SELECT name, resource_type, event_type, resource_id::text, parent_id::text, version, data FROM events
     WHERE revision > $1 ORDER BY revision
"""
INSERT_EVENT = """
    INSERT INTO unit_event (namespace, application_id, unit_id, unit, ordinal, kind, phase, state)
    SELECT namespace, application_id, id, name, $1, 'start', 'SETUP', $2 FROM unit LIMIT 1 RETURNING id::text
"""


class Log:
    """The events of the log that were not taken yet."""

    def __init__(self, sql: asyncpg.Connection) -> None:
        self._sql = sql
        self._last = 0

    async def take(self) -> list[dict[str, Any]]:
        found = await self._sql.fetch(LOG, self._last)
        self._last = await self._sql.fetchval("SELECT coalesce(max(revision), 0) FROM events")
        return [dict(row) | {"data": json.loads(row["data"])} for row in found]

    async def names(self) -> list[str]:
        return [event["name"] for event in await self.take()]


@pytest.fixture
def log(sql: asyncpg.Connection, rows: Rows) -> Log:
    return Log(sql)


async def test_what_is_made_is_told_with_what_an_audit_needs(rows: Rows, log: Log) -> None:
    assert await log.names() == ["namespace.created", "charm.created"]
    application = await rows.application("web")
    unit = await rows.unit("web")
    await rows.storage(unit)
    number = await rows.relate(("web", "db"))
    told = {event["name"]: event for event in await log.take()}
    assert list(told) == ["application.created", "unit.created", "storage.created", "relation.created"]
    assert {event["parent_id"] for event in told.values()} == {None, application}
    assert told["application.created"]["parent_id"] is told["relation.created"]["parent_id"] is None
    expected = {
        "application.created": {
            "name": "web",
            "namespace": "default",
            "life": "ALIVE",
            "charm": DIGEST,
            "charm_name": "any",
            "kind": "SCRIPTS",
            "profile": "LITERAL",
            "config_version": 1,
            "leader": "",
            "term": 0,
            "announced_term": 0,
        },
        "unit.created": {
            "name": "web/0",
            "number": 0,
            "namespace": "default",
            "life": "ALIVE",
            "phase": "WAITING",
            "machine": "",
            "status": {"name": "waiting", "message": ""},
            "forced": False,
        },
        "storage.created": {"name": "data/0", "unit": "web/0", "life": "ALIVE", "attached": False},
        "relation.created": {
            "number": number,
            "namespace": "default",
            "interface": "any",
            "peer": True,
            "life": "ALIVE",
            "ends": [{"application": "web", "endpoint": "db"}],
        },
    }
    for name, data in expected.items():
        assert data.items() <= told[name]["data"].items()
        assert told[name]["data"]["id"] == told[name]["resource_id"]


async def test_a_unit_is_told_with_the_storage_that_its_transaction_allots(
    rows: Rows, sql: asyncpg.Connection, log: Log
) -> None:
    await rows.application("web")
    async with sql.transaction():
        await rows.storage(await rows.unit("web"))
    (event,) = [event for event in await log.take() if event["name"] == "unit.created"]
    assert event["data"]["storage"] == ["data/0"]


async def test_what_a_unit_was_told_is_no_event_of_the_unit(rows: Rows, sql: asyncpg.Connection, log: Log) -> None:
    await rows.application("web")
    await rows.unit("web")
    await log.take()
    await sql.execute("UPDATE unit SET config_seen = 3, led_term = 1, plan = '[]', next_tick_at = now(), charm = NULL")
    await sql.execute("UPDATE application SET next_number = 7; UPDATE namespace SET next_relation = 7")
    assert await log.names() == []
    await sql.execute("UPDATE unit SET status_name = 'active'")
    await sql.execute("UPDATE unit SET phase = 'SETUP'")
    await sql.execute("UPDATE application SET leader = 0, term = 1")
    assert await log.names() == ["unit.status_changed", "unit.updated", "application.updated"]


async def test_each_state_of_a_units_event_is_told_under_the_name_that_the_unit_hears(
    rows: Rows, sql: asyncpg.Connection, log: Log
) -> None:
    application = await rows.application("web")
    await rows.unit("web")
    await log.take()
    first = await sql.fetchval(INSERT_EVENT, 1, "RUNNING")
    await sql.execute("UPDATE unit_event SET state = 'ERROR', message = 'no'")
    await sql.execute("UPDATE unit_event SET retry_at = now()")
    await sql.execute("UPDATE unit_event SET state = 'RUNNING', attempt = 2")
    await sql.execute("UPDATE unit_event SET state = 'RUNNING', attempt = 3")
    await sql.execute("UPDATE unit_event SET state = 'COMMITTED'")
    told = await log.take()
    assert [(event["name"], event["event_type"], event["data"]["attempt"]) for event in told] == [
        ("unit.start.started", "UNIT_EVENT_STARTED", 1),
        ("unit.start.failed", "UNIT_EVENT_FAILED", 1),
        ("unit.start.updated", "UPDATED", 1),
        ("unit.start.started", "UNIT_EVENT_STARTED", 2),
        ("unit.start.started", "UNIT_EVENT_STARTED", 3),
        ("unit.start", "UNIT_EVENT_COMMITTED", 3),
    ]
    assert {(event["resource_id"], event["parent_id"]) for event in told} == {(first, application)}
    assert [event["version"] for event in told] == sorted(event["version"] for event in told)
    assert told[0]["data"]["relation"] is None
    assert told[1]["data"]["message"] == "no"
    for ordinal, state in ((2, "SKIPPED"), (3, "WITHDRAWN"), (4, "ABANDONED")):
        if state == "SKIPPED":
            await sql.execute(INSERT_EVENT, ordinal, state)
        else:
            await sql.execute(INSERT_EVENT, ordinal, "RUNNING")
            await sql.execute("UPDATE unit_event SET state = $2 WHERE ordinal = $1", ordinal, state)
    assert [name for name in await log.names() if not name.endswith("started")] == [
        "unit.start.skipped",
        "unit.start.withdrawn",
        "unit.start.abandoned",
    ]
    await sql.execute("DELETE FROM unit_event")
    assert await log.names() == []


async def test_the_event_of_a_relation_names_it_and_its_endpoint(rows: Rows, log: Log) -> None:
    await rows.application("pg")
    await rows.application("web")
    pg, web = await rows.unit("pg"), await rows.unit("web")
    number = await rows.relate(("pg", "db"), ("web", "db"))
    await rows.storage(pg)
    await rows.settle(pg, web)
    events = [event["data"] | {"called": event["name"]} for event in await log.take() if event["parent_id"]]
    told = {event["called"]: event for event in events if event.get("unit") != "pg/0"}
    joined = told["unit.db-relation-joined"]
    assert joined["relation"] == {
        "number": number,
        "endpoint": "db",
        "peer": False,
        "application": "pg",
        "unit": "pg/0",
        "departing_unit": "",
    }
    assert joined["unit"] == "web/0"
    assert joined["seen"] == {"config": 1, "charm": DIGEST, "term": 0, "bag": 0}
    told = {event["called"]: event for event in events if event.get("unit") == "pg/0"}
    assert told["unit.data-storage-attached"]["storage"] == "data/0"
    assert told["storage.updated"]["attached"] is True


async def test_a_bag_tells_which_keys_have_changed_and_nothing_of_what_they_say(
    rows: Rows, sql: asyncpg.Connection, log: Log
) -> None:
    await rows.application("web")
    await rows.relate(("web", "cluster"))
    await log.take()
    await sql.execute(
        "INSERT INTO relation_bag (relation_id, owner, data)"
        """ SELECT id, 'web/0', '{"a": "hush", "b": "2"}' FROM relation"""
    )
    await sql.execute("""UPDATE relation_bag SET data = '{"b": "2", "c": "hush"}'""")
    await sql.execute("""UPDATE relation_bag SET data = '{"c": "hush", "b": "2"}'""")
    told = await log.take()
    assert [event["name"] for event in told] == ["relation.changed", "relation.changed"]
    said = [(event["data"]["owner"], event["data"]["version"], event["data"]["keys"]) for event in told]
    assert said == [("web/0", 1, ["a", "b"]), ("web/0", 2, ["a", "c"])]
    assert "hush" not in json.dumps(told)
    assert await sql.fetchval("SELECT version FROM relation_bag") == 2


async def test_each_configuration_has_a_version_of_its_own(rows: Rows, sql: asyncpg.Connection, log: Log) -> None:
    await rows.application("web")
    await log.take()
    await sql.execute("""UPDATE application SET config = '{"password": "hush"}'""")
    await sql.execute("""UPDATE application SET config = '{"password": "hush"}'""")
    (event,) = await log.take()
    assert event["data"]["config_version"] == 2
    assert "hush" not in json.dumps(event)


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("UPDATE unit SET life = 'DYING'", "UPDATE unit SET life = 'ALIVE'"),
        ("UPDATE unit SET phase = 'OPERATION'", "UPDATE unit SET phase = 'SETUP'"),
        ("UPDATE application SET life = 'DYING'", "UPDATE application SET life = 'ALIVE'"),
        ("UPDATE relation SET life = 'DYING'", "UPDATE relation SET life = 'ALIVE'"),
        ("SELECT", "UPDATE unit_event SET attempt = 3"),
        ("UPDATE unit_event SET state = 'ERROR'", "UPDATE unit_event SET state = 'COMMITTED'"),
        ("UPDATE unit_event SET state = 'ERROR'", "UPDATE unit_event SET state = 'RUNNING'"),
        ("UPDATE unit_event SET state = 'COMMITTED'", "UPDATE unit_event SET state = 'RUNNING', attempt = 2"),
        ("UPDATE unit_event SET state = 'WITHDRAWN'", "UPDATE unit_event SET state = 'SKIPPED'"),
        ("SELECT", "UPDATE unit SET name = 'web/9'"),
        ("SELECT", "UPDATE application SET name = 'other'"),
        ("SELECT", "UPDATE relation SET number = 9"),
        ("SELECT", "UPDATE unit SET machine_id = gen_random_uuid()"),
        ("SELECT", "UPDATE application SET announced_term = 5"),
    ],
)
async def test_what_is_illegal_is_refused(before: str, change: str, rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    await rows.unit("web")
    await rows.relate(("web", "cluster"))
    await sql.execute(INSERT_EVENT, 1, "RUNNING")
    await sql.execute(before)
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute(change)


async def test_a_unit_has_one_event_in_flight(rows: Rows, sql: asyncpg.Connection) -> None:
    await rows.application("web")
    await rows.unit("web")
    await sql.execute(INSERT_EVENT, 1, "RUNNING")
    with pytest.raises(asyncpg.UniqueViolationError):
        await sql.execute(INSERT_EVENT, 2, "RUNNING")
    with pytest.raises(asyncpg.CheckViolationError):
        await sql.execute(INSERT_EVENT, 2, "COMMITTED")


async def test_who_replicates_is_told_as_well(rows: Rows, sql: asyncpg.Connection, log: Log) -> None:
    await log.take()
    async with sql.transaction():
        await sql.execute("SET LOCAL session_replication_role = replica")
        await rows.application("web")
        await rows.unit("web")
        await rows.relate(("web", "cluster"))
    assert await log.names() == ["application.created", "unit.created", "relation.created"]
