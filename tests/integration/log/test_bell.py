"""Who rings, and who need not: the doorbell's rules in the database, for readers of this release and of the last."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from support import server as servers
from support.waiting import eventually
from tinkwell.server.log.store import row, statement
from tinkwell.server.log.store.doorbell import Listener, PostgresBell

MACHINE = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"
TEMPLATE = "6b6f9d7e-1e44-4e0a-8d68-0cf3a8f8a001"
WORKFLOW = "7c1a0f3d-5a0e-4a38-9a8b-3d8e8b1f7b02"
INSERT = "INSERT INTO hardware (id) VALUES ($1)"
WAITING = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)"
WANTED = "SELECT coalesce(pg_sequence_last_value('bell_wanted'), 0)"


class AsDocumented(Listener):
    """Calls whom asyncpg's documentation says that it calls."""

    _process_notification = asyncpg.Connection._process_notification


def quoted(name: str) -> str:
    return f'"{name}"'


class Ear:
    """A connection that takes the rings before a marker, so that silence is told without waiting for it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._heard: list[str] = []

    async def listen(self, channel: str = "") -> "Ear":
        self._channel = channel or str(await self._connection.fetchval("SELECT bell_channel()"))
        await self._connection.add_listener(self._channel, lambda *heard: self._heard.append(str(heard[-1])))
        return self

    async def heard(self) -> list[str]:
        """Return what writers have told since it was asked last."""
        marker = uuid.uuid4().hex
        await self._connection.execute("SELECT pg_notify($1, $2)", self._channel, marker)
        await eventually(lambda: marker in self._heard, deadline_seconds=10)
        heard = self._heard[: self._heard.index(marker)]
        self._heard.clear()
        return heard

    async def rings(self) -> int:
        """Return how often writers have rung since it was asked last."""
        return len(await self.heard())


class Sleeper:
    """A reader's connection that holds the bell."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def request(self) -> bool:
        await self._connection.execute("BEGIN")
        is_granted = bool(await self._connection.fetchval("SELECT request_bell()"))
        if not is_granted:
            await self._connection.execute("ROLLBACK")
        return is_granted

    async def wake(self) -> bool:
        await self._connection.execute("ROLLBACK")
        return bool(await self._connection.fetchval("SELECT silence_bell()"))


@pytest.fixture
async def connections(database_url: str) -> AsyncIterator[list[asyncpg.Connection]]:
    opened = [await asyncpg.connect(database_url) for _ in range(4)]
    yield opened
    for connection in opened:
        await connection.close(timeout=5)


async def test_writers_ring_while_somebody_sleeps_and_are_silent_afterwards(
    connections: list[asyncpg.Connection],
) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    assert await ear.rings() == 2
    assert await sleeper.wake()
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    assert await ear.rings() == 0


async def test_the_bell_is_refused_while_somebody_may_write_silently(connections: list[asyncpg.Connection]) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    assert await sleeper.wake()
    async with writer.transaction():
        await writer.execute(INSERT, uuid.uuid4())
        assert await sleeper.request()
        assert await sleeper.wake()
        await writer.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert not await sleeper.request()
        assert await writer.fetchval(WANTED) == 0
    assert await ear.rings() == 0
    assert await sleeper.request()


@pytest.mark.parametrize("planned", [0, 6], ids=["planning it", "planned before"])
@pytest.mark.parametrize("wanted", [0, 1], ids=["silent before", "rang before"])
async def test_an_insert_looks_whether_to_ring_only_once_it_has_locked_the_log(
    connections: list[asyncpg.Connection], wanted: int, planned: int
) -> None:
    writer, ear, other = connections[0], await Ear(connections[1]).listen(), connections[2]
    await writer.execute("SET synchronous_commit = on")
    await other.execute("SELECT setval('bell_wanted', $1)", wanted)
    for _ in range(planned):
        await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == planned * wanted
    async with other.transaction():
        await other.execute("LOCK TABLE events IN SHARE MODE")
        writing = asyncio.create_task(writer.execute(INSERT, uuid.uuid4()))
        await eventually(partial(connections[3].fetchval, WAITING, writer.get_server_pid()), deadline_seconds=10)
        await other.execute("SELECT setval('bell_wanted', $1)", 1 - wanted)
    await writing
    assert await ear.rings() == 1 - wanted


async def test_an_event_of_a_savepoint_that_is_rolled_back_rings_nobody_and_the_next_one_does(
    connections: list[asyncpg.Connection],
) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    await writer.execute("BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SAVEPOINT s")
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("ROLLBACK TO s")
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("COMMIT")
    assert await ear.rings() == 1


async def test_who_wakes_leaves_writers_ringing_for_another_who_sleeps(connections: list[asyncpg.Connection]) -> None:
    writer, ear = connections[0], await Ear(connections[1]).listen()
    first, second = Sleeper(connections[2]), Sleeper(connections[3])
    assert await first.request()
    assert await second.request()
    assert not await first.wake()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 1
    assert await second.wake()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 0


async def test_a_ring_tells_of_the_event_as_the_log_has_it(connections: list[asyncpg.Connection]) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    await writer.execute("SELECT set_config('tinkwell.actor', $1, false)", "somebody\x1f, \u00e9")
    await writer.execute(
        "INSERT INTO hardware (id, metadata) VALUES ($1, $2)", uuid.uuid4(), '{"note": "\u00e9\\u001f"}'
    )
    await writer.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    told = [row.parse(payload) for payload in await ear.heard()]
    rows = await writer.fetch(statement.PAGE, [], [], 0, 10, 1 << 20)
    assert told == [row.event(found) for found in rows]
    assert [event.name for event in told] == ["hardware.created", "a.b"]


async def test_every_kind_of_change_is_told_as_the_log_has_it(connections: list[asyncpg.Connection]) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    for change in (
        INSERT.replace("$1", f"'{MACHINE}'"),
        "UPDATE hardware SET metadata = '{\"changed\": true}'",
        f"SELECT phone_home('{MACHINE}', '{{}}', 'me')",
        f"INSERT INTO template (id, name, data) VALUES ('{TEMPLATE}', 't', 'x')",
        "UPDATE template SET data = 'y'",
        (
            "INSERT INTO workflow (id, template_id, template_name, devices, data, total_actions)"
            f" VALUES ('{WORKFLOW}', '{TEMPLATE}', 't', '{{}}', 'rendered', 1)"
        ),
        (
            "INSERT INTO action (id, workflow_id, action_index, task_name, name, image, worker_id)"
            f" VALUES (gen_random_uuid(), '{WORKFLOW}', 0, 'task', 'a', 'image', '{MACHINE}')"
        ),
        "UPDATE workflow SET state = 'RUNNING'",
        "UPDATE action SET state = 'RUNNING'",
        "DELETE FROM action",
        "DELETE FROM workflow",
        "UPDATE template SET deleted_at = now()",
        "DELETE FROM template",
        "DELETE FROM hardware",
    ):
        await writer.execute(change)
    told = [row.parse(payload) for payload in await ear.heard()]
    assert told == [row.event(found) for found in await writer.fetch(statement.PAGE, [], [], 0, 100, 1 << 20)]
    assert [(event.resource_type, event.event_type, bool(event.parent_id)) for event in told] == [
        ("HARDWARE", "CREATED", False),
        ("HARDWARE", "UPDATED", False),
        ("HARDWARE", "HARDWARE_PHONE_HOME", False),
        ("TEMPLATE", "CREATED", False),
        ("TEMPLATE", "UPDATED", False),
        ("WORKFLOW", "CREATED", False),
        ("ACTION", "CREATED", True),
        ("WORKFLOW", "WORKFLOW_STARTED", False),
        ("ACTION", "ACTION_STARTED", True),
        ("ACTION", "DELETED", True),
        ("WORKFLOW", "DELETED", False),
        ("TEMPLATE", "DELETED", False),
        ("HARDWARE", "DELETED", False),
    ]


async def test_asyncpg_still_calls_what_hears_at_once(database_url: str, connections: list[asyncpg.Connection]) -> None:
    listener = await asyncpg.connect(database_url, connection_class=Listener)
    try:
        later, heard = [], asyncio.get_running_loop().create_future()
        await listener.add_listener("ring", lambda *told: later.append(told))
        listener.hear = heard.set_result
        await connections[0].execute("SELECT pg_notify('ring', 'now')")
        assert await asyncio.wait_for(heard, 10) == "now"
        assert not later
    finally:
        await listener.close(timeout=5)


@pytest.fixture(params=[Listener, AsDocumented])
async def listener(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Listener]:
    opened = await asyncpg.connect(database_url, connection_class=request.param)
    yield opened
    await opened.close(timeout=5)


async def test_who_cannot_take_what_is_told_hears_of_it_and_not_only_the_log(
    connections: list[asyncpg.Connection], listener: Listener
) -> None:
    def fail(_: object) -> bool:
        raise ZeroDivisionError

    writer, holder = connections[:2]
    bell = PostgresBell(listener, holder, heard=lambda: None)
    await bell.start()
    assert await bell.request()
    waiting = asyncio.create_task(bell.wait(60, fail))
    await asyncio.sleep(0)
    await writer.execute(INSERT, uuid.uuid4())
    with pytest.raises(ZeroDivisionError):
        await waiting


@pytest.mark.parametrize("told", ["?", "\x1f" * 10, "\x1f" * 11, "x" * 7_000, "1\x1f" * 8 + "9" * 30 + "\x1f{}\x1f"])
async def test_what_is_told_in_a_form_that_nobody_knows_is_read_from_the_log(
    connections: list[asyncpg.Connection], listener: Listener, told: str
) -> None:
    writer, holder = connections[:2]
    bell = PostgresBell(listener, holder, heard=lambda: None)
    await bell.start()
    assert await bell.request()
    waiting = asyncio.create_task(bell.wait(60, lambda event: pytest.fail(f"takes {event}")))
    await asyncio.sleep(0)
    await writer.execute("SELECT pg_notify(bell_channel(), $1)", told)
    assert await waiting


async def test_beyond_so_many_events_that_nobody_takes_the_log_is_to_be_read(
    connections: list[asyncpg.Connection], listener: Listener
) -> None:
    writer, holder = connections[:2]
    told: list[int] = []
    bell = PostgresBell(listener, holder, heard=lambda: told.append(1))
    await bell.start()
    assert await bell.request()
    for _ in range(150):
        await writer.execute(INSERT, uuid.uuid4())
    await eventually(lambda: len(told) == 150, deadline_seconds=10)
    assert await bell.wait(60, lambda event: pytest.fail(f"takes {event.revision}"))
    bell.clear()
    assert not bell.is_rung


async def test_what_is_too_long_for_a_ring_is_not_told(connections: list[asyncpg.Connection]) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.request()
    for length in (1_000, 7_500, 8_100, 100_000):
        metadata = json.dumps({"note": "x" * length})
        await writer.execute("INSERT INTO hardware (id, metadata) VALUES ($1, $2)", uuid.uuid4(), metadata)
    assert [bool(payload) for payload in await ear.heard()] == [True, True, False, False]


async def test_nobody_but_a_server_learns_where_to_listen(connections: list[asyncpg.Connection]) -> None:
    owner, role = connections[0], f"reader-{uuid.uuid4().hex}"
    await owner.execute(f"CREATE ROLE {quoted(role)}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {quoted(role)}")
    try:
        await owner.execute(f"SET ROLE {quoted(role)}")
        assert await owner.fetch("SELECT * FROM bell_secret") == []
        for function in ("bell_channel", "request_bell"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await owner.fetchval(f"SELECT {function}()")
    finally:
        await owner.execute(f"RESET ROLE; DROP OWNED BY {quoted(role)}; DROP ROLE {quoted(role)}")


async def test_a_session_that_had_to_ring_while_there_was_no_channel_rings_once_there_is_one(
    connections: list[asyncpg.Connection],
) -> None:
    writer, ear, sleeper, owner = (
        connections[0],
        await Ear(connections[1]).listen(),
        Sleeper(connections[2]),
        connections[3],
    )
    assert await sleeper.request()
    channel = await owner.fetchval("DELETE FROM bell_secret RETURNING channel")
    with pytest.raises(asyncpg.InvalidParameterValueError, match="channel name"):
        await writer.execute(INSERT, uuid.uuid4())
    await owner.execute("INSERT INTO bell_secret (channel) VALUES ($1)", channel)
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 1


async def test_what_a_role_may_see_of_a_server_does_not_hold_the_channel(
    database_url: str, connections: list[asyncpg.Connection]
) -> None:
    channel = await connections[0].fetchval("SELECT bell_channel()")
    async with servers.running(database_url):
        seen = await connections[0].fetch("SELECT query FROM pg_stat_activity WHERE application_name LIKE 'tinkwell %'")
    assert len(seen) >= 3
    assert not [query for (query,) in seen if channel in query]


async def test_nobody_sleeps_while_notifications_pile_up(connections: list[asyncpg.Connection]) -> None:
    owner, sleeper = connections[0], Sleeper(connections[2])
    # As if a third of PostgreSQL's room for them were taken, which would take gigabytes.
    await owner.execute(
        "CREATE FUNCTION public.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS 'SELECT 0.3::float8'"
    )
    await owner.execute("ALTER FUNCTION request_bell SET search_path = public, pg_catalog, pg_temp")
    assert not await sleeper.request()
    await owner.execute("DROP FUNCTION public.pg_notification_queue_usage()")
    assert await sleeper.request()


async def test_a_server_that_stops_in_its_sleep_lets_writers_be_silent(
    database_url: str, connections: list[asyncpg.Connection]
) -> None:
    async def is_wanted() -> bool:
        return bool(await connections[0].fetchval(WANTED))

    await connections[0].fetchval("SELECT silence_bell()")
    async with servers.running(database_url):
        await eventually(is_wanted, deadline_seconds=10)
    assert not await is_wanted()


async def test_a_server_that_is_awake_silences_a_bell_that_was_left_ringing(
    database_url: str, connections: list[asyncpg.Connection]
) -> None:
    writer, slow = connections[:2]

    async def is_silenced() -> bool:
        await writer.execute(INSERT, uuid.uuid4())
        return bool(await writer.fetchval(WANTED) == 0)

    async with servers.running(database_url), slow.transaction():
        # Keeps the server awake: below what follows something may still be committed.
        await slow.execute("SET CONSTRAINTS ALL IMMEDIATE")
        await slow.execute(INSERT, uuid.uuid4())
        await eventually(is_silenced, deadline_seconds=10)
        # As a reader leaves it that is killed in its sleep.
        await writer.execute("SELECT setval('bell_wanted', 1)")
        await eventually(is_silenced, deadline_seconds=10)
