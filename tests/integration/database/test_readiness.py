"""Which databases are refused, by servers and by who sets the schema up."""

import urllib.parse
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from support.database import Databases
from tinkwell.server.database import readiness, schema


@pytest.fixture(params=["SQL_ASCII", "LATIN1", "EUC_JP"])
async def encoded(postgres: Databases, request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, str]]:
    """A database that has another encoding, with nothing in it, and that encoding."""
    name = f"test_{uuid.uuid4().hex}"
    maintenance = await asyncpg.connect(postgres.url)
    try:
        await maintenance.execute(f"CREATE DATABASE {name} ENCODING '{request.param}' LOCALE 'C' TEMPLATE template0")
        yield urllib.parse.urlsplit(postgres.url)._replace(path=f"/{name}").geturl(), request.param
        await maintenance.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await maintenance.close()


async def test_a_database_of_another_encoding_is_refused_before_anything_is_made(encoded: tuple[str, str]) -> None:
    url, encoding = encoded
    reason = f"the database's encoding is {encoding}, and must be UTF8: create another one with ENCODING 'UTF8' .*$"
    for step in (schema.upgrade(url), schema.current(url), schema.downgrade(url, "base")):
        with pytest.raises(schema.Refused, match=reason):
            await step
    with pytest.raises(readiness.NotUsable, match=reason):
        await readiness.wait(url, allow_unsafe=True)
    connection = await asyncpg.connect(url)
    try:
        assert (
            await connection.fetchval("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == 0
        )
    finally:
        await connection.close()
