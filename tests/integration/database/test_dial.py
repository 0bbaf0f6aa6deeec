"""Which of several hosts is connected to, and what is said of those that will not do."""

import asyncio
import contextlib
import socket
import urllib.parse
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tinkwell.core import errors
from tinkwell.server import database_url as urls
from tinkwell.server.database import dial, engine
from tinkwell.server.database.database import Database


class Hole:
    """A host that takes connections and never answers, as a proxy before a machine that is gone."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Hole"]:
        gone = asyncio.Event()

        async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            await gone.wait()
            writer.close()

        server = await asyncio.start_server(take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            gone.set()
            server.close()


def behind(url: str, *others: str) -> str:
    """Return the URL with hosts before its own."""
    parts = urllib.parse.urlsplit(url)
    query = dict(urllib.parse.parse_qsl(parts.query))
    own = query.pop("host", "") or parts.netloc.rpartition("@")[2]
    assert "port" not in query
    query["host"] = ",".join([*others, own])
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}@", query=urllib.parse.urlencode(query, safe="/,:")).geturl()


async def connect(url: str, seconds: float = 10) -> asyncpg.Connection:
    return await dial.connect(**urls.parse(url).arguments({}, connect_seconds=seconds))


@pytest.fixture
def unheard() -> str:
    """A place where nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{bound.getsockname()[1]}"


async def test_a_host_that_never_answers_leaves_the_next_one_its_time_and_is_tried_last_from_then_on(
    database_url: str,
) -> None:
    async with Hole().open() as hole:
        url = behind(database_url, f"127.0.0.1:{hole.port}")
        for _ in range(3):
            connection = await connect(url, seconds=2)
            assert await connection.fetchval("SELECT 1") == 1
            await connection.close(timeout=5)
        assert hole.connections == 1


async def test_each_host_that_cannot_be_used_is_named_with_what_is_wrong(unheard: str) -> None:
    async with Hole().open() as hole:
        with pytest.raises(dial.CannotConnect) as raised:
            await connect(f"postgresql://u@{unheard},127.0.0.1:{hole.port},x.invalid/d?host=", seconds=1)
    said = str(raised.value)
    assert said.startswith(
        f"no host is the primary: no PostgreSQL listens at {unheard}; 127.0.0.1:{hole.port} does not answer in time; "
        "the host of x.invalid:5432 cannot be found: "
    )
    assert len(raised.value.causes) == 3


async def test_the_hosts_of_the_environment_are_tried_like_those_of_a_url(
    database_url: str, unheard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = urllib.parse.urlsplit(database_url)
    folder = dict(urllib.parse.parse_qsl(parts.query))["host"]
    host, _, port = unheard.partition(":")
    monkeypatch.setenv("PGHOST", f"{host},{folder}")
    monkeypatch.setenv("PGPORT", f"{port},5432")
    connection = await connect(parts._replace(query="").geturl())
    await connection.close(timeout=5)
    for ports, sentence in (("1,2,3", "there are 2 hosts and 3 ports"), ("x", "PGPORT must be a number")):
        monkeypatch.setenv("PGPORT", ports)
        with pytest.raises(asyncpg.ClientConfigurationError, match=sentence):
            await connect(parts._replace(query="").geturl())


async def test_a_host_that_refuses_this_account_is_the_end_of_the_search(database_url: str) -> None:
    url = behind(database_url, dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(database_url).query))["host"])
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await connect(urllib.parse.urlsplit(url)._replace(path="/absent").geturl())


@pytest.mark.parametrize("way", ["write", "fetch", "statement"])
async def test_a_session_that_takes_no_writes_leaves_the_pool_and_the_next_one_writes(
    database_url: str, way: str
) -> None:
    """As a pooler has it that leads to a standby now."""
    pool = engine.create(database_url, pool_size=1)
    database = Database(pool)

    async def push() -> None:
        query = "INSERT INTO hardware (id) VALUES (gen_random_uuid())"
        if way == "fetch":
            await database.fetch(query)
        elif way == "statement":
            await database.write(lambda transaction: transaction.connection.exec_driver_sql(query), actor="a")
        else:
            await database.write(lambda transaction: transaction.fetch(query), actor="a")

    try:
        await push()
        await database.fetch("SET default_transaction_read_only = on")
        with pytest.raises(errors.Unavailable, match="takes no writes at this moment"):
            await push()
        await push()
        assert (await database.fetch("SELECT count(*) FROM hardware"))[0][0] == 2
    finally:
        await pool.dispose()
