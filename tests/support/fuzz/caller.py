"""Makes hostile calls, some at once, and notes how each one ended."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from support.edge import refusal_in
from support.fuzz.case import Case, Port
from tinkwell.api.v1 import workflow_service_pb2

# Longer than a server lets any of these calls last.
DEADLINE_SECONDS = 40.0
_CONNECTIONS = 2
_READ_AT_MOST = 3
_SHOWN = 500
# A stream that lasts may have nothing to say.
_READ_SECONDS = 0.1
_OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.max_receive_message_length", -1),
)
# Statuses of the several reports in one call are in its answer.
_REPORTS = "/ReportActionStatuses"
# What gRPC's own client says where a call was refused while it still wrote requests: it has not kept the status.
_STATUS_LOST = "Internal error from Core"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a case ended, by the monotonic clock; `code` is None where we ended it, as streams that last.

    Nor is there one where gRPC's client lost the status of a stream of requests; a fault is then in the server's log.
    """

    port: Port
    path: str
    has_token: bool
    case: str
    begun: float
    seconds: float
    code: grpc.StatusCode | None
    details: str


class Caller:
    """Calls over some connections to each port."""

    def __init__(self, channels: Mapping[Port, Sequence[grpc.aio.Channel]]) -> None:
        self._channels = channels
        self.ended: list[Ended] = []

    async def call(self, case: Case) -> None:
        """Make the call."""
        begun = time.monotonic()
        channels = self._channels[case.port]
        code, details = await self._outcome(channels[case.number % len(channels)], case)
        seconds = time.monotonic() - begun
        # What was sent is made again by its number, and would take gigabytes.
        ended = Ended(case.port, case.method.path, case.has_token, str(case), begun, seconds, code, details[:_SHOWN])
        self.ended.append(ended)

    async def _outcome(self, channel: grpc.aio.Channel, case: Case) -> tuple[grpc.StatusCode | None, str]:
        try:
            return await _made(channel, case)
        except grpc.aio.AioRpcError as error:
            if case.method.sends_many and error.details() == _STATUS_LOST:
                return None, _STATUS_LOST
            return error.code(), error.details() or ""


async def _made(channel: grpc.aio.Channel, case: Case) -> tuple[grpc.StatusCode | None, str]:
    method, many = case.method, iter(case.requests)
    given: Mapping[str, Any] = {"timeout": DEADLINE_SECONDS, "metadata": case.metadata}
    if method.answers_many:
        call: Any
        if method.sends_many:
            stream_stream: Any = channel.stream_stream(method.path)
            call = stream_stream(many, **given)
        else:
            unary_stream: Any = channel.unary_stream(method.path)
            call = unary_stream(case.requests[0], **given)
        return await _read(call, lasts=method.lasts)
    if method.sends_many:
        stream_unary: Any = channel.stream_unary(method.path)
        await stream_unary(many, **given)
    else:
        unary: Any = channel.unary_unary(method.path)
        answer = await unary(case.requests[0], **given)
        if method.path.endswith(_REPORTS):
            return _worst(workflow_service_pb2.ReportActionStatusesResponse.FromString(answer))
    return grpc.StatusCode.OK, ""


async def _read(call: Any, *, lasts: bool) -> tuple[grpc.StatusCode | None, str]:
    try:
        for _ in range(_READ_AT_MOST):
            async with asyncio.timeout(_READ_SECONDS if lasts else None):
                if await call.read() is grpc.aio.EOF:
                    return await call.code(), await call.details() or ""
    except TimeoutError:
        pass
    finally:
        call.cancel()
    return None, ""


def _worst(answer: workflow_service_pb2.ReportActionStatusesResponse) -> tuple[grpc.StatusCode, str]:
    """Return the status of a report that is the server's fault, or else of any that was refused, or else that all is
    well.
    """
    refused = [refusal_in(outcome.error) for outcome in answer.outcomes if outcome.HasField("error")]
    faults = [each for each in refused if each.code in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)]
    for each in (*faults, *refused):
        return each.code, each.message
    return grpc.StatusCode.OK, ""


@contextlib.asynccontextmanager
async def connected(addresses: Mapping[Port, str], certificate: bytes) -> AsyncIterator[Caller]:
    """Connect to all ports; the certificate is what Tinkerbell's shows."""
    secure = grpc.ssl_channel_credentials(certificate)
    async with contextlib.AsyncExitStack() as stack:
        channels: dict[Port, list[grpc.aio.Channel]] = {}
        for port, address in addresses.items():
            for _ in range(_CONNECTIONS):
                channel = (
                    grpc.aio.secure_channel(address, secure, options=_OPTIONS)
                    if port is Port.TINKERBELL
                    else grpc.aio.insecure_channel(address, options=_OPTIONS)
                )
                channels.setdefault(port, []).append(await stack.enter_async_context(channel))
        yield Caller(channels)


async def all_of(caller: Caller, cases: Iterable[Case], *, jobs: int) -> None:
    """Make the calls, so many at once."""
    waiting = iter(cases)

    async def work() -> None:
        for case in waiting:
            await caller.call(case)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(jobs):
            tasks.create_task(work())
