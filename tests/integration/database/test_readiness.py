"""Which databases a server refuses to work on."""

import urllib.parse
import uuid

import asyncpg
import pytest

from support.database import Databases
from tinkwell.server.database import readiness, schema


async def test_a_database_whose_text_may_be_anything_is_refused(postgres: Databases) -> None:
    name = f"test_{uuid.uuid4().hex}"
    url = urllib.parse.urlsplit(postgres.url)._replace(path=f"/{name}").geturl()
    maintenance = await asyncpg.connect(postgres.url)
    try:
        await maintenance.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        await schema.upgrade(url)
        with pytest.raises(readiness.NotUsable, match="SQL_ASCII"):
            await readiness.wait(url, allow_unsafe=True)
        await maintenance.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await maintenance.close()
