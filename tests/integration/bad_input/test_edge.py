"""The edge around a service that does as the test says: what goes wrong in a call, and what its caller is told."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from support.edge import Edge, refused, serving
from support.waiting import eventually
from tinkwell.api.v1 import workflow_service_pb2 as pb
from tinkwell.api.v1 import workflow_service_pb2_grpc
from tinkwell.core import errors
from tinkwell.server.rpc import auth

CANCEL = "/tinkwell.api.v1.WorkflowService/CancelWorkflow"
APPEND = "/tinkwell.api.v1.WorkflowService/AppendLogs"
LOGS = "/tinkwell.api.v1.WorkflowService/WatchLogs"


class Workflows(workflow_service_pb2_grpc.WorkflowServiceServicer):
    """A handler of each kind, whose heart is the test's."""

    def __init__(self) -> None:
        self.answer: Callable[[str], Any] = lambda actor: 7
        self.closed = asyncio.Event()

    async def CancelWorkflow(self, request: Any, context: Any) -> Any:
        answer = self.answer(auth.actor(context))
        return pb.CancelWorkflowResponse(revision=await answer if asyncio.iscoroutine(answer) else answer)

    async def WatchLogs(self, request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield pb.WatchLogsResponse(lines=[pb.LogLine(text="a message")])
            yield pb.WatchLogsResponse(lines=[pb.LogLine(text="bytes")]).SerializeToString()
            while request.follow:
                yield pb.WatchLogsResponse(lines=[pb.LogLine(text="x" * 100_000)])
            self.answer(auth.actor(context))
        finally:
            # Something to await, as when a connection is given back.
            await asyncio.sleep(0)
            self.closed.set()

    async def AppendLogs(self, requests: Any, context: Any) -> Any:
        accepted = 0
        async for request in requests:
            accepted += len(request.lines)
        return pb.AppendLogsResponse(accepted=accepted)


@pytest.fixture
def workflows() -> Workflows:
    # The methods that no test calls are left to the generated class, which refuses them.
    return Workflows()  # type: ignore[abstract]


@pytest.fixture
async def server(workflows: Workflows) -> AsyncIterator[Edge]:
    add = functools.partial(workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server, workflows)
    add_health = functools.partial(health_pb2_grpc.add_HealthServicer_to_server, health.aio.HealthServicer())
    async with serving(add, add_health) as running:
        yield running


def stub(server: Edge) -> "workflow_service_pb2_grpc.WorkflowServiceStub":
    return workflow_service_pb2_grpc.WorkflowServiceStub(server.channel)


async def test_a_stream_may_give_messages_and_encoded_bytes(server: Edge) -> None:
    received = [response.lines[0].text async for response in stub(server).WatchLogs(pb.WatchLogsRequest())]
    assert received == ["a message", "bytes"]


async def test_a_handler_is_closed_when_its_client_goes_away(server: Edge, workflows: Workflows) -> None:
    call = stub(server).WatchLogs(pb.WatchLogsRequest(follow=True))
    await call.read()
    call.cancel()
    async with asyncio.timeout(10):
        await workflows.closed.wait()


async def test_a_handler_is_closed_when_the_server_stops(workflows: Workflows) -> None:
    add = functools.partial(workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server, workflows)
    async with serving(add) as running:
        call = stub(running).WatchLogs(pb.WatchLogsRequest(follow=True))
        await call.read()
    async with asyncio.timeout(10):
        await workflows.closed.wait()


async def test_an_error_after_some_responses_reaches_the_client(server: Edge, workflows: Workflows) -> None:
    def fail(actor: str) -> None:
        raise errors.Compacted(3, 17)

    workflows.answer = fail
    call = stub(server).WatchLogs(pb.WatchLogsRequest())
    assert (await call.read(), await call.read()) != (grpc.aio.EOF, grpc.aio.EOF)
    told = await refused(call.read())
    assert (told.code, told.reason) == (grpc.StatusCode.OUT_OF_RANGE, "COMPACTED")
    assert told.metadata == {"revision": "3", "oldest_revision": "17"}


async def test_a_fault_shows_a_reference_and_nothing_else(
    server: Edge, workflows: Workflows, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(actor: str) -> None:
        raise RuntimeError("secret of the database")

    workflows.answer = fail
    with caplog.at_level(logging.ERROR):
        told = await refused(stub(server).CancelWorkflow(pb.CancelWorkflowRequest()))
    assert (told.code, told.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert "secret" not in told.message
    [record] = [found for found in caplog.records if found.name == "tinkwell.server.rpc.interceptor"]
    assert record.reference == told.metadata["reference"]  # type: ignore[attr-defined]
    assert record.exc_info is not None
    assert "secret" in str(record.exc_info[1])


async def test_a_unary_call_ends_after_the_time_it_may_take(workflows: Workflows) -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    workflows.answer = lambda actor: hang()
    add = functools.partial(workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server, workflows)
    async with serving(add, unary_timeout_seconds=0.01) as running:
        told = await refused(stub(running).CancelWorkflow(pb.CancelWorkflowRequest()))
        assert (told.code, told.reason) == (grpc.StatusCode.UNAVAILABLE, "UNAVAILABLE")
        workflows.answer = lambda actor: 1
        assert (await stub(running).CancelWorkflow(pb.CancelWorkflowRequest())).revision == 1


async def test_hundreds_of_wrong_fields_fit_into_the_status(server: Edge, workflows: Workflows) -> None:
    def fail(actor: str) -> None:
        raise errors.InvalidField(errors.Violation(f"data[{index}]", "ü" * 5_000 + "\ud800") for index in range(300))

    workflows.answer = fail
    told = await refused(stub(server).CancelWorkflow(pb.CancelWorkflowRequest()))
    assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert "data[0]" in told.fields
    assert told.message.startswith("data[0]: üü")


async def test_each_message_of_a_client_stream_is_decoded_strictly(server: Edge) -> None:
    append: grpc.aio.StreamUnaryMultiCallable[bytes, bytes] = server.channel.stream_unary(
        APPEND, request_serializer=None, response_deserializer=None
    )

    async def requests() -> AsyncIterator[bytes]:
        yield pb.AppendLogsRequest(lines=[pb.LogLine(text="fine")]).SerializeToString()
        yield b"\x12\x04\x2a\x02\xff\xfe"

    told = await refused(append(requests(), timeout=10))
    assert told.code is grpc.StatusCode.INVALID_ARGUMENT
    assert list(told.fields) == ["lines[0].text"]
    good = stub(server).AppendLogs(iter([pb.AppendLogsRequest(lines=[pb.LogLine()])]))
    assert (await good).accepted == 1


async def test_a_request_larger_than_four_megabytes_is_refused_and_says_so(server: Edge) -> None:
    told = await refused(server.send(CANCEL, b"\x12\x80\x80\xc0\x02" + b"x" * (5 * 1024 * 1024)))
    assert told.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in told.message
    assert await server.send(CANCEL, b"")


async def test_health_checks_are_served_with_fields_that_are_not_known_here(server: Edge) -> None:
    answer = await server.send("/grpc.health.v1.Health/Check", b"\xf8\x07\x01")
    assert health_pb2.HealthCheckResponse.FromString(answer).status == health_pb2.HealthCheckResponse.SERVING
    watch: grpc.aio.UnaryStreamMultiCallable[bytes, bytes]
    watch = server.channel.unary_stream("/grpc.health.v1.Health/Watch")
    watching = watch(b"")
    assert await watching.read() == answer
    watching.cancel()


async def test_a_method_that_does_not_exist_is_unimplemented(server: Edge) -> None:
    told = await refused(server.send("/tinkwell.api.v1.WorkflowService/Dance", b""))
    assert told.code is grpc.StatusCode.UNIMPLEMENTED


async def test_callers_name_themselves_where_no_tokens_are_configured(server: Edge, workflows: Workflows) -> None:
    seen: list[str] = []

    def note(actor: str) -> int:
        seen.append(actor)
        return 0

    workflows.answer = note
    await server.send(CANCEL, b"")
    await server.send(CANCEL, b"", metadata=(("x-tinkwell-actor", "ci/7"),))
    assert seen == ["anonymous", "ci/7"]
    for wrong in (("x-tinkwell-actor", "x" * 101),), (("x-tinkwell-actor", "a"), ("x-tinkwell-actor", "b")):
        told = await refused(server.send(CANCEL, b"", metadata=wrong))
        assert told.code is grpc.StatusCode.INVALID_ARGUMENT
        assert list(told.fields) == ["x-tinkwell-actor"]
    assert len(seen) == 2


async def test_callers_need_a_token_where_tokens_are_configured(workflows: Workflows) -> None:
    seen: list[str] = []

    def note(actor: str) -> int:
        seen.append(actor)
        return 0

    workflows.answer = note
    add = functools.partial(workflow_service_pb2_grpc.add_WorkflowServiceServicer_to_server, workflows)
    add_health = functools.partial(health_pb2_grpc.add_HealthServicer_to_server, health.aio.HealthServicer())
    async with serving(add, add_health, tokens={"ci": "abc", "operator": "déf"}) as running:
        for wrong in ((), (("authorization", "Bearer abcd"),), (("authorization", "Basic abc"),)):
            told = await refused(running.send(CANCEL, b"", metadata=wrong))
            assert (told.code, told.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")
        await running.send(CANCEL, b"", metadata=(("authorization", "bearer abc"), ("x-tinkwell-actor", "operator")))
        assert seen == ["ci"]
        assert await running.send("/grpc.health.v1.Health/Check", b"")


@pytest.mark.parametrize("sends_many", [False, True])
@pytest.mark.parametrize("answers_many", [False, True])
async def test_a_call_of_any_kind_is_refused_with_the_status_that_tells_why(
    sends_many: bool, answers_many: bool
) -> None:
    kind = f"{'stream' if sends_many else 'unary'}_{'stream' if answers_many else 'unary'}"
    handlers = {"Call": getattr(grpc, f"{kind}_rpc_method_handler")(lambda *_: None, lambda _: None, bytes)}

    def add(server: grpc.aio.Server) -> None:
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Kinds", handlers),))

    async with serving(add, tokens={"ci": "abc"}) as running:
        call = getattr(running.channel, kind)("/test.Kinds/Call")(iter([b""]) if sends_many else b"", timeout=10)
        told = await refused(call.read() if answers_many else call)
        assert (told.code, told.reason) == (grpc.StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED")


async def test_calls_are_counted_by_method_and_code(server: Edge, workflows: Workflows) -> None:
    def fail(actor: str) -> None:
        raise errors.NotFound("workflow", "x")

    await server.send(CANCEL, b"")
    workflows.answer = fail
    await refused(server.send(CANCEL, b""))
    await refused(server.send("/grpc.health.v1.Health/Check", b"\x0a\x01x"))

    def calls(method: str, code: str) -> float | None:
        return server.registry.get_sample_value("tinkwell_grpc_calls_total", {"method": method, "code": code})

    def counts() -> list[float | None]:
        health = "/grpc.health.v1.Health/Check"
        return [calls(CANCEL, "OK"), calls(CANCEL, "NOT_FOUND"), calls(health, "NOT_FOUND")]

    # A call is counted when it has ended here, which its client may learn earlier.
    await eventually(lambda: counts() == [1, 1, 1])
    assert server.registry.get_sample_value("tinkwell_grpc_calls_in_flight", {"method": CANCEL}) == 0
