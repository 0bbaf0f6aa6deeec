"""The event that each change of a row becomes, whoever makes it; here with plain SQL, as with psql."""

import json
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
import pytest

from tinkwell.core.event.kinds import EventType, ResourceType

MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
NETWORK = {"interfaces": [{"dhcp": {"mac": "52:54:00:10:00:03", "ip": {"address": "192.168.56.43"}}}]}
TEMPLATE = "6b6f9d7e-1e44-4e0a-8d68-0cf3a8f8a001"
WORKFLOW = "7c1a0f3d-5a0e-4a38-9a8b-3d8e8b1f7b02"
ACTION = "8d2b1f4e-6b1f-4b49-8b9c-4e9f9c208c03"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close(timeout=5)


@pytest.fixture(
    params=["setval('bell_wanted', 0)", "setval('bell_wanted', 1)", "setval('bell_wanted', 0, false)"],
    ids=["silent", "ringing", "after a crash"],
)
async def bell(database: asyncpg.Connection, request: pytest.FixtureRequest) -> None:
    """Run the test where no reader sleeps, where one does, and where PostgreSQL has forgotten."""
    await database.execute(f"SET synchronous_commit = on; SELECT {request.param}")


async def events(database: asyncpg.Connection) -> list[tuple[str, str, int]]:
    rows = await database.fetch("SELECT event_type, name, version FROM events ORDER BY revision")
    return [(row[0], row[1], row[2]) for row in rows]


async def addresses(database: asyncpg.Connection) -> list[tuple[str | None, str | None]]:
    rows = await database.fetch("SELECT mac::text, host(ip) FROM hardware_address ORDER BY mac, ip")
    return [(row[0], row[1]) for row in rows]


async def add_hardware(database: asyncpg.Connection, machine: str = MACHINE, network: object = NETWORK) -> None:
    await database.execute(
        "INSERT INTO hardware (id, metadata, network) VALUES ($1, $2, $3)",
        uuid.UUID(machine),
        '{"rate": 1.10, "none": null, "big": 12345678901234567890}',
        json.dumps(network),
    )


async def add_workflow(database: asyncpg.Connection, *, actions: int = 1) -> None:
    await database.execute("INSERT INTO template (id, name, data) VALUES ($1, 't', 'x')", uuid.UUID(TEMPLATE))
    async with database.transaction():
        await database.execute(
            "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)"
            " VALUES ($1, $2, 't', '{\"device_1\": \"x\"}', 'rendered', $3)",
            uuid.UUID(WORKFLOW),
            uuid.UUID(TEMPLATE),
            actions,
        )
        for index in range(actions):
            await database.execute(
                "INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id)"
                " VALUES ($1, $2, $3, 'task', $4, 'image', $5)",
                uuid.UUID(ACTION) if index == 0 else uuid.uuid4(),
                uuid.UUID(WORKFLOW),
                index,
                f"action {index}",
                uuid.UUID(MACHINE),
            )


@pytest.mark.usefixtures("bell")
async def test_hardware_is_created_updated_deleted_and_comes_back(database: asyncpg.Connection) -> None:
    await add_hardware(database)
    await database.execute("UPDATE hardware SET metadata = '{}'")
    await database.execute("UPDATE hardware SET deleted_at = now()")
    await database.execute("UPDATE hardware SET metadata = '{\"dead\": true}'")
    await database.execute("UPDATE hardware SET deleted_at = NULL")
    await database.execute("DELETE FROM hardware")
    assert await events(database) == [
        ("CREATED", "hardware.created", 1),
        ("UPDATED", "hardware.updated", 2),
        ("DELETED", "hardware.deleted", 3),
        ("CREATED", "hardware.created", 5),
        ("DELETED", "hardware.deleted", 6),
    ]


@pytest.mark.usefixtures("bell")
async def test_a_machine_that_is_deleted_from_the_beginning_is_no_event_until_it_comes_back(
    database: asyncpg.Connection,
) -> None:
    statement = "INSERT INTO hardware (id, network, deleted_at) VALUES ($1, $2, now())"
    await database.execute(statement, uuid.UUID(MACHINE), json.dumps(NETWORK))
    assert (await events(database), await addresses(database)) == ([], [])
    await database.execute("UPDATE hardware SET deleted_at = NULL")
    assert await events(database) == [("CREATED", "hardware.created", 2)]
    assert await addresses(database) == [("52:54:00:10:00:03", None), (None, "192.168.56.43")]


@pytest.mark.usefixtures("bell")
async def test_the_addresses_of_a_machine_are_those_of_its_network(database: asyncpg.Connection) -> None:
    await add_hardware(database, network={})
    assert await addresses(database) == []
    network = {"interfaces": [{}, {"dhcp": {"mac": "", "ip": {"address": ""}}}, *NETWORK["interfaces"]]}
    for there, expected in ((network, 2), ({"interfaces": []}, 0), (NETWORK, 2), ({}, 0)):
        await database.execute("UPDATE hardware SET network = $1", json.dumps(there))
        assert len(await addresses(database)) == expected


@pytest.mark.parametrize(
    "change",
    ["UPDATE hardware SET metadata = $1", "INSERT INTO hardware (id, metadata) VALUES (gen_random_uuid(), $1)"],
)
@pytest.mark.usefixtures("bell")
async def test_a_machine_may_have_a_mebibyte_and_no_more(database: asyncpg.Connection, change: str) -> None:
    await add_hardware(database, network={})
    others = len('{"a": ""}' + "{}")
    await database.execute(change, json.dumps({"a": "x" * ((1 << 20) - others)}))
    with pytest.raises(asyncpg.CheckViolationError, match="has more than 1 MiB") as refused:
        await database.execute(change, json.dumps({"a": "x" * ((1 << 20) - others + 1)}))
    assert (refused.value.constraint_name, refused.value.table_name) == ("hardware_size", "hardware")


@pytest.mark.usefixtures("bell")
async def test_ids_of_events_are_uuids_that_differ_though_writers_seed_their_random_numbers_alike(
    database: asyncpg.Connection, database_url: str
) -> None:
    async def write(connection: asyncpg.Connection, machine: str) -> None:
        await connection.execute("SET synchronous_commit = on; SELECT setseed(0.5)")
        await add_hardware(connection, machine, network={})
        await connection.execute("UPDATE hardware SET metadata = '{}' WHERE id = $1", uuid.UUID(machine))

    other = await asyncpg.connect(database_url)
    try:
        await write(database, MACHINE)
        await write(other, ACTION)
    finally:
        await other.close(timeout=5)
    await add_workflow(database)
    ids = [row[0] for row in await database.fetch("SELECT id FROM events")]
    # Two of each machine, and those of a template, a workflow and an action, which have triggers of their own.
    assert len(set(ids)) == 7
    assert {(one.variant, one.version) for one in ids} == {(uuid.RFC_4122, 8)}


@pytest.mark.usefixtures("bell")
async def test_an_event_carries_the_resource_exactly(database: asyncpg.Connection) -> None:
    await add_hardware(database)
    row = await database.fetchrow("SELECT data::text, size, resource_id::text, actor FROM events")
    assert row is not None
    text = row[0]
    assert '"rate": 1.10' in text
    assert '"big": 12345678901234567890' in text
    assert '"none": null' in text
    shape = json.loads(text)
    assert list(shape) == ["id", "version", "metadata", "network", "created_at", "updated_at"]
    assert shape["network"] == NETWORK
    assert row[1] == len(text.encode())
    assert row[2] == MACHINE
    assert row[3] == await database.fetchval("SELECT session_user")


@pytest.mark.usefixtures("bell")
async def test_a_new_machine_draws_one_number_and_says_how_large_its_event_is(database: asyncpg.Connection) -> None:
    for _ in range(3):
        await database.execute("INSERT INTO hardware (id, metadata) VALUES (gen_random_uuid(), $1)", '{"name": "Zoë"}')
    assert [row[0] for row in await database.fetch("SELECT revision FROM events ORDER BY revision")] == [1, 2, 3]
    assert await database.fetchval("SELECT last_value FROM events_revision") == 3
    assert await database.fetchval("SELECT count(*) FROM events WHERE size = octet_length(data::text)") == 3


@pytest.mark.usefixtures("bell")
async def test_every_event_of_a_machine_has_the_same_text_whatever_the_session_sets(
    database: asyncpg.Connection,
) -> None:
    await database.execute("SET TimeZone = 'Asia/Kathmandu'; SET DateStyle = 'German'")
    metadata, network = r'{"Zoë": null, "name": "%5$s \\ \" %%"}', '{"rack": [1.50]}'
    insert = "INSERT INTO hardware (id, version, metadata, network, created_at, updated_at) VALUES ($1, 7, $2, $3, {})"
    change = "UPDATE hardware SET metadata = '{}', deleted_at = $1 RETURNING updated_at"
    early, late = "1969-12-31T23:59:59.5-11:00", "2026-02-28T18:15:00+05:45"
    deleted_at = datetime(2026, 3, 1, 8, 0, 0, 7, tzinfo=UTC)
    expected = []

    def expect(version: int, metadata: str, *times: str) -> None:
        named = zip(("created_at", "updated_at", "deleted_at"), times, strict=False)
        times_text = ", ".join(f'"{name}": "{time}"' for name, time in named)
        expected.append(
            f'{{"id": "{MACHINE}", "version": {version}, "metadata": {metadata}, "network": {network}, {times_text}}}'
        )

    for created_at, updated_at in ((early, early), (early, late), (late, early), (late, late)):
        times = f"'{created_at}', '{updated_at}'"
        await database.execute(insert.format(times), uuid.UUID(MACHINE), metadata, network)
        created, updated = (
            f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" for time in (created_at, updated_at)
        )
        expect(7, metadata, created, updated)
        await database.execute("DELETE FROM hardware")
        expect(8, metadata, created, updated)
    await database.execute(insert.format(f"'{early}', '{early}'"), uuid.UUID(MACHINE), metadata, network)
    expect(7, metadata, "1970-01-01T10:59:59.500000Z", "1970-01-01T10:59:59.500000Z")
    changed_at = await database.fetchval(change, None)
    expect(8, "{}", "1970-01-01T10:59:59.500000Z", f"{changed_at:%Y-%m-%dT%H:%M:%S.%fZ}")
    changed_at = await database.fetchval(change, deleted_at)
    expect(9, "{}", "1970-01-01T10:59:59.500000Z", f"{changed_at:%Y-%m-%dT%H:%M:%S.%fZ}", "2026-03-01T08:00:00.000007Z")
    rows = await database.fetch("SELECT data::text FROM events ORDER BY revision")
    assert [row[0] for row in rows] == expected


@pytest.mark.usefixtures("bell")
async def test_the_actor_is_who_the_session_says_it_is(database: asyncpg.Connection) -> None:
    async with database.transaction():
        await database.execute("SELECT set_config('tinkwell.actor', 'night shift', true)")
        await add_hardware(database)
    assert await database.fetchval("SELECT actor FROM events") == "night shift"


async def test_a_rolled_back_change_is_no_event(database: asyncpg.Connection) -> None:
    transaction = database.transaction()
    await transaction.start()
    await add_hardware(database)
    await database.execute("SET CONSTRAINTS ALL IMMEDIATE")
    await transaction.rollback()
    assert await events(database) == []


async def test_a_workflow_that_succeeds_is_told_step_by_step(database: asyncpg.Connection) -> None:
    await add_workflow(database, actions=2)
    first, second = [row[0] for row in await database.fetch("SELECT id FROM action ORDER BY action_index")]
    for action, is_last in ((first, False), (second, True)):
        async with database.transaction():
            await database.execute("UPDATE workflow SET state = 'RUNNING' WHERE state = 'PENDING'")
            await database.execute("UPDATE action SET state = 'RUNNING', attempt = 1 WHERE id = $1", action)
        async with database.transaction():
            await database.execute("UPDATE action SET state = 'SUCCEEDED' WHERE id = $1", action)
            await database.execute(
                "UPDATE workflow SET completed_actions = completed_actions + 1, state = $1",
                "SUCCEEDED" if is_last else "RUNNING",
            )
    assert (await events(database))[1:] == [
        ("CREATED", "workflow.created", 1),
        ("CREATED", "action.created", 1),
        ("CREATED", "action.created", 1),
        ("WORKFLOW_STARTED", "workflow.started", 2),
        ("ACTION_STARTED", "action.started", 2),
        ("ACTION_SUCCEEDED", "action.succeeded", 3),
        ("WORKFLOW_INPROGRESS", "workflow.inprogress", 3),
        ("ACTION_STARTED", "action.started", 2),
        ("ACTION_SUCCEEDED", "action.succeeded", 3),
        ("WORKFLOW_SUCCEEDED", "workflow.succeeded", 4),
    ]


async def test_only_the_creation_of_a_workflow_carries_the_rendered_template(database: asyncpg.Connection) -> None:
    await add_workflow(database)
    await database.execute("UPDATE workflow SET state = 'RUNNING'")
    await database.execute("UPDATE workflow SET state = 'FAILED', cause = '{\"reason\": \"ACTION_FAILED\"}'")
    rows = await database.fetch("SELECT data FROM events WHERE resource_type = 'WORKFLOW' ORDER BY revision")
    created, started, failed = (json.loads(row[0]) for row in rows)
    assert created["data"] == "rendered"
    assert "data" not in started
    assert failed["cause"] == {"reason": "ACTION_FAILED"}


async def test_an_action_names_its_workflow_as_parent(database: asyncpg.Connection) -> None:
    await add_workflow(database)
    row = await database.fetchrow(
        "SELECT resource_id::text, parent_id::text FROM events WHERE resource_type = 'ACTION'"
    )
    assert row is not None
    assert tuple(row) == (ACTION, WORKFLOW)


async def test_a_retried_action_is_told_as_retrying(database: asyncpg.Connection) -> None:
    await add_workflow(database)
    await database.execute("UPDATE action SET state = 'RUNNING', attempt = 1")
    await database.execute("UPDATE action SET state = 'PENDING', retries = 1")
    assert (await events(database))[-1] == ("ACTION_RETRYING", "action.retrying", 3)


@pytest.mark.parametrize("table", ["workflow", "action"])
@pytest.mark.parametrize("state", ["SUCCEEDED", "FAILED", "TIMEOUT", "CANCELLED"])
async def test_a_final_state_is_final_for_psql_too(database: asyncpg.Connection, table: str, state: str) -> None:
    await add_workflow(database)
    await database.execute(f"UPDATE {table} SET state = 'RUNNING'")
    await database.execute(f"UPDATE {table} SET state = '{state}'")
    with pytest.raises(asyncpg.CheckViolationError, match="may not go from"):
        await database.execute(f"UPDATE {table} SET state = 'RUNNING'")


@pytest.mark.parametrize("table", ["hardware", "template", "workflow", "action"])
async def test_truncate_is_refused_since_it_would_lose_events(database: asyncpg.Connection, table: str) -> None:
    with pytest.raises(asyncpg.FeatureNotSupportedError):
        await database.execute(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize(
    "other",
    [
        {"mac": "52-54-00-10-00-03"},
        {"mac": "52:54:00:10:00:03".upper()},
        {"ip": {"address": "192.168.56.43"}},
    ],
)
async def test_addresses_are_unique_whatever_their_spelling(
    database: asyncpg.Connection, other: dict[str, object]
) -> None:
    await add_hardware(database)
    with pytest.raises(asyncpg.UniqueViolationError):
        await add_hardware(database, str(uuid.uuid4()), {"interfaces": [{"dhcp": other}]})


async def test_the_forms_of_an_ipv6_address_are_one_address(database: asyncpg.Connection) -> None:
    short = {"interfaces": [{"dhcp": {"ip": {"address": "2001:db8::1"}}}]}
    long = {"interfaces": [{"dhcp": {"ip": {"address": "2001:0DB8:0:0:0:0:0:0001"}}}]}
    await add_hardware(database, str(uuid.uuid4()), short)
    with pytest.raises(asyncpg.UniqueViolationError):
        await add_hardware(database, str(uuid.uuid4()), long)


async def test_a_deleted_machine_gives_its_addresses_back(database: asyncpg.Connection) -> None:
    await add_hardware(database)
    await database.execute("UPDATE hardware SET deleted_at = now()")
    await add_hardware(database, str(uuid.uuid4()))
    with pytest.raises(asyncpg.UniqueViolationError):
        await database.execute("UPDATE hardware SET deleted_at = NULL WHERE id = $1", uuid.UUID(MACHINE))


async def test_a_writer_without_durable_commits_gets_them_for_its_events(database: asyncpg.Connection) -> None:
    await database.execute("SET synchronous_commit = off")
    async with database.transaction():
        await add_hardware(database)
        await database.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert await database.fetchval("SHOW synchronous_commit") == "on"


async def test_a_user_who_may_write_resources_may_not_forge_events(database: asyncpg.Connection) -> None:
    role = f"writer_{uuid.uuid4().hex}"
    await database.execute(f"CREATE ROLE {role}")
    await database.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON hardware TO {role}")
    try:
        await database.execute(f"SET ROLE {role}")
        await add_hardware(database)
        for forgery in (
            "INSERT INTO events (resource_type, event_type, name, version, actor) VALUES ('', '', '', 1, '')",
            "SELECT nextval('events_revision')",
            "SELECT publish_event('a.b', NULL, '{}', 'me')",
            "SELECT write_event('CUSTOM', NULL, NULL, 'CUSTOM', 0, '{}', 'a.b')",
            "SELECT request_bell()",
            "SELECT silence_bell()",
            "SELECT setval('bell_wanted', 0)",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await database.execute(forgery)
    finally:
        await database.execute("RESET ROLE")
        await database.execute(f"DROP OWNED BY {role}")
        await database.execute(f"DROP ROLE {role}")
    assert await events(database) == [("CREATED", "hardware.created", 1)]


async def test_the_log_takes_the_kinds_that_readers_know_and_no_others(database: asyncpg.Connection) -> None:
    write = "SELECT write_event($1, NULL, NULL, $2, 0, '{}')"
    for resource_type in ResourceType:
        await database.execute(write, resource_type, "CREATED")
    for event_type in EventType:
        await database.execute(write, "HARDWARE", event_type)
    with pytest.raises(asyncpg.CheckViolationError, match="resource_type_known"):
        await database.execute(write, "UNHEARD_OF", "CREATED")
    with pytest.raises(asyncpg.CheckViolationError, match="event_type_known"):
        await database.execute(write, "HARDWARE", "UNHEARD_OF")


async def test_what_no_watcher_could_receive_is_refused(database: asyncpg.Connection) -> None:
    await add_workflow(database)
    for change in (
        "UPDATE action SET message = repeat('x', 9000000)",
        (
            "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)"
            " SELECT gen_random_uuid(), template_id, 't', '{}', repeat(chr(1), 2000000), 0 FROM workflow"
        ),
        "SELECT write_event('CUSTOM', NULL, NULL, 'CUSTOM', 0, to_json(repeat('x', 9000000)), 'a.b')",
    ):
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            await database.execute(change)
        assert refused.value.constraint_name == "events_size"


async def test_the_largest_workflow_makes_an_event_though_its_text_doubles(database: asyncpg.Connection) -> None:
    await add_workflow(database)
    await database.execute(
        "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)"
        " SELECT $1, template_id, 't', '{}', repeat(E'\\n', 3145728 - 2), 0 FROM workflow",
        uuid.uuid4(),
    )
    assert await database.fetchval("SELECT max(size) > 6000000 FROM events")


async def test_the_first_revision_since_a_moment_is_found_by_halving(database: asyncpg.Connection) -> None:
    for _ in range(40):
        await database.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    rows = await database.fetch("SELECT revision, created_at FROM events ORDER BY revision")
    for row in rows:
        assert await database.fetchval("SELECT first_revision_since($1)", row["created_at"]) == row["revision"]
    assert await database.fetchval("SELECT first_revision_since(now() + interval '1 day')") == 41
    assert await database.fetchval("SELECT first_revision_since(now() - interval '1 day')") == 1


HISTORY = "SELECT history_id FROM current_history($1, $2)"


async def test_a_database_that_was_put_back_in_time_has_another_history(database: asyncpg.Connection) -> None:
    known = await database.fetchval(HISTORY, 0, None)
    assert await database.fetchval(HISTORY, 0, known) == known
    assert await database.fetchval(HISTORY, 1_000, known) != known


async def test_two_servers_that_notice_another_history_agree_on_it(database: asyncpg.Connection) -> None:
    known = await database.fetchval(HISTORY, 0, None)
    renewed = await database.fetchval(HISTORY, 1_000, known)
    assert await database.fetchval(HISTORY, 2_000, known) == renewed


async def test_a_copy_of_a_database_has_another_history(database: asyncpg.Connection) -> None:
    # Each test's database is a copy of one template, and so is its row.
    copied = await database.fetchval("SELECT history_id FROM event_history")
    own = await database.fetchval(HISTORY, 0, None)
    assert own != copied
    assert await database.fetchval(HISTORY, 0, None) == own


async def test_a_log_that_was_restored_from_a_dump_has_another_history(database: asyncpg.Connection) -> None:
    known = await database.fetchval(HISTORY, 0, None)
    # What a dump brings back is the rows; the table is a new one.
    await database.execute("ALTER TABLE events RENAME TO former")
    await database.execute("CREATE TABLE events (LIKE former)")
    assert await database.fetchval(HISTORY, 0, None) != known
