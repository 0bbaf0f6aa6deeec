"""Each kind of resource is known to the database and to the server; see `tests/unit/test_resource.py`."""

import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import grpc.aio
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from support import service as services
from support.server import Server
from tinkwell.core.event.kinds import EventType, ResourceType

TABLES = [kind.lower() for kind in ResourceType if kind is not ResourceType.CUSTOM]
CHECK = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid = to_regtype($1) AND contype = 'c'
"""
TRIGGERS = """
    SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal
"""


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@pytest.mark.parametrize("kinds", [ResourceType, EventType])
async def test_the_database_knows_the_kinds_that_the_core_has(sql: asyncpg.Connection, kinds: Any) -> None:
    domain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kinds.__name__).lower()
    (check,) = await sql.fetch(CHECK, domain)
    assert set(re.findall(r"'(\w+)'", check[0])) == set(kinds)


@pytest.mark.parametrize("table", TABLES)
async def test_each_change_of_a_resource_has_a_version_and_an_event(sql: asyncpg.Connection, table: str) -> None:
    triggers = {row["tgname"] for row in await sql.fetch(TRIGGERS, table)}
    assert triggers >= {f"{table}_version", f"{table}_truncate", f"{table}_event"}


async def test_reflection_lists_every_service(server: Server) -> None:
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type] # the stubs know no aio
        call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        answer: Any = await call.read()
        call.cancel()
    listed = {service.name for service in answer.list_services_response.service}
    assert {service.full_name for service in services.services()} <= listed


async def test_the_server_answers_every_method(server: Server) -> None:
    assert await services.missing(server.address) == []
