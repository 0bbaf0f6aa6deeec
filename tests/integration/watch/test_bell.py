"""Who rings, and who need not: the doorbell's rules in the database, for readers of this release and of the last."""

import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support import server as servers
from support.waiting import eventually
from tinkwell.server.store import schema

CHANNEL = "tinkwell_bell"
INSERT = "INSERT INTO hardware (id) VALUES ($1)"
WANTED = "SELECT coalesce(pg_sequence_last_value('bell_wanted'), 0)"


def quoted(name: str) -> str:
    return f'"{name}"'


class Ear:
    """A connection that counts the rings before a marker, so that silence is told without waiting for it."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._heard: list[str] = []

    async def listen(self) -> "Ear":
        await self._connection.add_listener(CHANNEL, lambda *heard: self._heard.append(str(heard[-1])))
        return self

    async def rings(self) -> int:
        """Return how often writers have rung since it was asked last."""
        marker = uuid.uuid4().hex
        await self._connection.execute("SELECT pg_notify($1, $2)", CHANNEL, marker)
        await eventually(lambda: marker in self._heard, deadline_seconds=10)
        count = self._heard.index(marker)
        self._heard.clear()
        return count


class Sleeper:
    """A reader's connection that holds the bell."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def hush(self) -> bool:
        await self._connection.execute("BEGIN")
        is_granted = bool(await self._connection.fetchval("SELECT may_sleep()"))
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
    assert await sleeper.hush()
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    assert await ear.rings() == 2
    assert await sleeper.wake()
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("SELECT publish_event('a.b', NULL, '{}', 'me')")
    assert await ear.rings() == 0


async def test_the_bell_is_refused_while_somebody_may_write_silently(connections: list[asyncpg.Connection]) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.hush()
    assert await sleeper.wake()
    async with writer.transaction():
        await writer.execute(INSERT, uuid.uuid4())
        assert await sleeper.hush()
        assert await sleeper.wake()
        await writer.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert not await sleeper.hush()
        assert await writer.fetchval(WANTED) == 0
    assert await ear.rings() == 0
    assert await sleeper.hush()


async def test_an_event_of_a_savepoint_that_is_rolled_back_rings_nobody_and_the_next_one_does(
    connections: list[asyncpg.Connection],
) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    assert await sleeper.hush()
    await writer.execute("BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SAVEPOINT s")
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("ROLLBACK TO s")
    await writer.execute(INSERT, uuid.uuid4())
    await writer.execute("COMMIT")
    assert await ear.rings() == 1


async def test_who_wakes_leaves_writers_ringing_for_another_who_sleeps(connections: list[asyncpg.Connection]) -> None:
    writer, ear = connections[0], await Ear(connections[1]).listen()
    first, second = Sleeper(connections[2]), Sleeper(connections[3])
    assert await first.hush()
    assert await second.hush()
    assert not await first.wake()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 1
    assert await second.wake()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 0


async def test_readers_of_the_last_release_sleep_through_an_upgrade_and_miss_nothing(
    database_url: str, connections: list[asyncpg.Connection]
) -> None:
    writer, ear, sleeper = connections[0], await Ear(connections[1]).listen(), Sleeper(connections[2])
    await schema.downgrade(database_url, "0007")
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 0
    assert await sleeper.hush()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 1
    await schema.upgrade(database_url)
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 1
    assert not await connections[3].fetchval("SELECT silence_bell()")
    assert await sleeper.wake()
    await writer.execute(INSERT, uuid.uuid4())
    assert await ear.rings() == 0


@pytest.mark.parametrize("is_public", [False, True])
async def test_a_role_that_serves_may_silence_the_bell_after_an_upgrade(
    database_url: str, connections: list[asyncpg.Connection], is_public: bool
) -> None:
    owner, role = connections[0], f"server-{uuid.uuid4().hex}"
    await schema.downgrade(database_url, "0007")
    await owner.execute(f"CREATE ROLE {quoted(role)}")
    await owner.execute(f"GRANT EXECUTE ON FUNCTION may_sleep TO {'PUBLIC' if is_public else quoted(role)}")
    await schema.upgrade(database_url)
    assert await owner.fetchval("SELECT has_function_privilege($1, 'silence_bell()', 'EXECUTE')", role)
    await owner.execute(f"DROP OWNED BY {quoted(role)}; DROP ROLE {quoted(role)}")


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
