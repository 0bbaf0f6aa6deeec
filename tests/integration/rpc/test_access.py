"""Every method of the whole server, called under every role."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

import tinkwell.client
from support import server
from support.edge import Refusal, refusal
from support.fuzz.method import Method, own
from tinkwell.core.access import Role
from tinkwell.server.rpc import access

_DEADLINE_SECONDS = 30
_TOKENS = {role.value: f"token of the {role.value}" for role in Role}
_ROLES = {role.value: role.value for role in Role if role is not Role.ADMIN}
_BUILT_IN = "/grpc."


@pytest.fixture
async def address(database_url: str) -> AsyncIterator[str]:
    """A whole server in this process, with a token for each role."""
    async with server.running(database_url, tokens=_TOKENS, roles=_ROLES) as running:
        yield running.address


async def _call(channel: grpc.aio.Channel, method: Method, token: str) -> Refusal | None:
    """Call with an empty request and return how that was refused, None where it was answered."""
    streams = ("unary", "stream")
    kind = f"{streams[method.sends_many]}_{streams[method.answers_many]}"
    metadata = (("authorization", f"Bearer {token}"),)
    called: Any = getattr(channel, kind)(method.path)
    call = called(iter([b""]) if method.sends_many else b"", timeout=_DEADLINE_SECONDS, metadata=metadata)
    try:
        if method.answers_many:
            await call.read()
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return refusal(error)
    finally:
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
            await call.code()
    return None


def _was_not_allowed(refused: Refusal | None) -> bool:
    return refused is not None and "google.rpc.ErrorInfo" in refused.details and refused.reason == "NOT_ALLOWED"


async def test_each_role_may_call_the_methods_of_the_table_and_no_other(address: str) -> None:
    refused = answered = 0
    async with grpc.aio.insecure_channel(address) as channel:
        served = [each for each in own() if await _is_served(channel, each)]
        for method in served:
            for role in Role:
                may = role in access.METHODS[method.path]
                found = await _call(channel, method, _TOKENS[role.value])
                assert _was_not_allowed(found) is not may, (method.path, role, found)
                if found is not None and not may:
                    refused += 1
                    assert (found.code, found.metadata) == (grpc.StatusCode.PERMISSION_DENIED, {"role": role.value})
                    assert f"and {role.value} has the role {role.value}" in found.message
                else:
                    answered += 1
    assert answered == sum(len(access.METHODS[each.path]) for each in served)
    assert refused + answered == len(served) * len(Role)
    assert len(served) > 100


async def _is_served(channel: grpc.aio.Channel, method: Method) -> bool:
    found = await _call(channel, method, _TOKENS["admin"])
    return found is None or found.code is not grpc.StatusCode.UNIMPLEMENTED


async def test_a_role_is_asked_for_before_the_request_is_read(address: str) -> None:
    async with grpc.aio.insecure_channel(address) as channel:
        push: Any = channel.unary_unary("/tinkwell.api.v1.HardwareService/Push")
        for role, code in ((Role.READER, "PERMISSION_DENIED"), (Role.ADMIN, "INVALID_ARGUMENT")):
            metadata = (("authorization", f"Bearer {_TOKENS[role.value]}"),)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await push(b"\xff\xff\xff", timeout=_DEADLINE_SECONDS, metadata=metadata)
            assert refused.value.code().name == code


async def test_what_a_reader_may_not_see_of_an_answer_is_refused_and_not_left_out(address: str) -> None:
    errors = tinkwell.client.errors
    async with tinkwell.client.connect(address, token=_TOKENS["reader"]) as client:
        with pytest.raises(errors.NotFound):
            await client.applications.relation(1)
        with pytest.raises(
            errors.NotAllowed, match="GetRelation with with_bags needs the role admin or operator"
        ) as no:
            await client.applications.relation(1, with_bags=True)
        assert (no.value.code, no.value.role) == ("PERMISSION_DENIED", "reader")
        with pytest.raises(errors.NotFound):
            await client.events.position("board")
        with pytest.raises(errors.NotAllowed, match="GetPosition with claim needs the role admin or operator or agent"):
            await client.events.position("board", claim=True)
    async with tinkwell.client.connect(address, token=_TOKENS["agent"]) as client:
        assert (await client.events.position("rules", claim=True)).revision == 0


async def test_events_have_the_name_of_the_caller_whatever_its_role(address: str) -> None:
    machine = str(uuid.uuid4())
    async with tinkwell.client.connect(address, token=_TOKENS["operator"], actor="root") as client:
        await client.hardware.push({"id": machine})
        async with client.hardware.watch(resource_id=machine, from_revision=1) as events:
            async for event in events:
                assert event.actor == "operator"
                break
        with pytest.raises(tinkwell.client.errors.InvalidField, match=r"names below unit\. are the server's own"):
            await client.events.publish("unit.started")


async def test_without_tokens_everybody_is_an_admin(database_url: str) -> None:
    async with server.running(database_url) as running, grpc.aio.insecure_channel(running.address) as channel:
        for method in own():
            if not method.path.startswith(_BUILT_IN):
                assert not _was_not_allowed(await _call(channel, method, "")), method.path
