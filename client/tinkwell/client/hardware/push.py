"""Pushes many machines by one call.

One task sends machines while the caller's task reads, because the server reports its progress while it receives. gRPC
loses the status of a call that ends while a message is being written. So the client sends nothing before the server has
said that it is ready. A server that will store no more says so, and waits until the client has stopped sending. When
the call ends otherwise, the reading task raises the reason, and the sending task only stops.
"""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from grpc import aio

from tinkwell.api.v1 import hardware_service_pb2 as pb
from tinkwell.client import call, errors
from tinkwell.client.hardware import message
from tinkwell.client.hardware.model import Hardware
from tinkwell.client.value import field as value_field
from tinkwell.client.value import shape
from tinkwell.core.errors import Violation

# The server accepts 20,000 fields and elements in a request, and each has two bytes at least.
MAX_REQUEST_BYTES = 32 * 1024
MAX_REQUEST_MACHINES = 100
# The metadata key by which the server says that it has accepted the call.
READY_KEY = "x-tinkwell-ready"


@dataclass(frozen=True, slots=True)
class Conditional:
    """A machine that is pushed only if the stored one has this version; 0 means that there must be none."""

    hardware: Hardware | Mapping[str, Any]
    expected_version: int


@dataclass(frozen=True, slots=True)
class BulkChange:
    """How many machines are stored, how many of these the call changed, and the revision of the last change, or 0."""

    stored: int = 0
    changed: int = 0
    revision: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return shape.to_json(self)


Pushed: TypeAlias = Hardware | Mapping[str, Any] | Conditional
Machines: TypeAlias = Iterable[Pushed] | AsyncIterable[Pushed]
ProgressHook: TypeAlias = Callable[[BulkChange], Awaitable[None] | None]
Call: TypeAlias = "aio.StreamStreamCall[pb.PushManyRequest, pb.PushManyResponse]"


class BulkPush:
    """One call that pushes many machines."""

    def __init__(self, opened: Call, address: str, timeout_seconds: float, on_progress: ProgressHook | None) -> None:
        self._call = opened
        self._address = address
        self._timeout_seconds = timeout_seconds
        self._on_progress = on_progress
        self._is_stopped = False
        self._is_writing = False
        self._is_cut_off = False
        self._is_sent = False
        # The time limit of the answer that `run` waits for, if it waits.
        self._limit: asyncio.Timeout | None = None
        # Set if the server received nothing for too long.
        self._stalled: errors.DeadlineExceeded | None = None
        # Set if a machine cannot be sent. The machines before it are pushed nevertheless.
        self._unfit: errors.InvalidField | None = None

    async def run(self, machines: Machines) -> BulkChange:
        """Push all machines, and return the sums; raises the errors of the call and of the iterable of machines."""
        failure: errors.Error | None = None
        done = BulkChange()
        try:
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(self._send(machines), name="push-machines")
                try:
                    done = await self._receive(sending)
                except errors.Error as error:
                    failure = error
                sending.cancel()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            self._call.cancel()
        if failed := self._stalled or self._explained(failure) or self._unfit:
            raise failed
        return done

    async def _send(self, machines: Machines) -> None:
        if not await self._is_invited():
            return
        async with contextlib.aclosing(self._requests(machines)) as requests:
            async for request in requests:
                if self._is_stopped:
                    break
                if not await self._write(self._call.write(request)):
                    return
        await self._finish()

    async def _is_invited(self) -> bool:
        try:
            metadata = await call.within(self._timeout_seconds, self._address, self._call.initial_metadata())
        except errors.DeadlineExceeded as error:
            self._stalled = error
            self._call.cancel()
            return False
        except errors.Error:
            return False
        return READY_KEY in dict(metadata or ())

    async def _finish(self) -> None:
        if await self._write(self._call.done_writing()):
            self._is_sent = True
            if self._limit is not None:
                self._limit.reschedule(asyncio.get_running_loop().time() + self._timeout_seconds)

    async def _write(self, writing: Awaitable[None]) -> bool:
        """Wait until a message is written; False once the call has ended."""
        self._is_writing = True
        try:
            await call.within(self._timeout_seconds, self._address, writing)
        except errors.DeadlineExceeded as error:
            self._stalled = error
        except (errors.Error, asyncio.InvalidStateError):
            self._is_cut_off = True
        else:
            return True
        finally:
            self._is_writing = False
        return False

    def _explained(self, failure: errors.Error | None) -> errors.Error | None:
        """Turn gRPC's error about a failed write into one that says that the connection is lost."""
        if self._is_cut_off and isinstance(failure, errors.Internal) and not failure.reason:
            return errors.Unavailable(f"no server is available at {self._address}: the connection was lost")
        return failure

    async def _receive(self, sending: asyncio.Task[None]) -> BulkChange:
        done = BulkChange()
        while (answer := await self._read()) is not None:
            before, done = done, BulkChange(answer.stored, answer.changed, answer.revision)
            if self._on_progress is not None and done != before:
                waited = self._on_progress(done)
                if inspect.isawaitable(waited):
                    await waited
            if answer.stopped:
                await self._stop(sending)
        return done

    async def _stop(self, sending: asyncio.Task[None]) -> None:
        self._is_stopped = True
        # Cancelling the task while it writes would cancel the whole call; it stops after the write.
        if not self._is_writing and not sending.done():
            sending.cancel()
            await self._finish()

    async def _read(self) -> pb.PushManyResponse | None:
        # While the client still sends machines, the server need not answer.
        limit = asyncio.timeout(self._timeout_seconds if self._is_sent else None)
        try:
            async with limit:
                self._limit = limit
                with call.translated(self._address):
                    answer = await self._call.read()
        except TimeoutError as error:
            raise errors.DeadlineExceeded(f"the server at {self._address} did not answer in time") from error
        finally:
            self._limit = None
        return None if answer is aio.EOF else cast("pb.PushManyResponse", answer)

    async def _requests(self, machines: Machines) -> AsyncGenerator[pb.PushManyRequest, None]:
        request, size, place = pb.PushManyRequest(), 0, 0
        async for machine in _each(machines):
            try:
                push = to_push(machine, f"machines[{place}]")
            except errors.InvalidField as error:
                self._unfit = error
                break
            place += 1
            added = push.ByteSize()
            if request.machines and (size + added > MAX_REQUEST_BYTES or len(request.machines) == MAX_REQUEST_MACHINES):
                yield request
                request, size = pb.PushManyRequest(), 0
            request.machines.append(push)
            size += added
        if request.machines:
            yield request


def to_push(machine: Pushed, path: str) -> pb.PushRequest:
    """Build the message of one machine; raises `InvalidField`, whose fields begin with `path`."""
    try:
        if isinstance(machine, Conditional):
            data = message.to_hardware(machine.hardware)
            return value_field.build(pb.PushRequest, data=data, expected_version=machine.expected_version)
        return pb.PushRequest(data=message.to_hardware(machine))
    except errors.InvalidField as error:
        raise errors.InvalidField.of_all(
            Violation(f"{path}.{_field(violation.field)}", violation.description) for violation in error.violations
        ) from error


def _field(field: str) -> str:
    if field == "expected_version":
        return field
    return f"data.{field}" if field else "data"


async def _each(machines: Machines) -> AsyncIterator[Pushed]:
    if isinstance(machines, AsyncIterable):
        async for machine in machines:
            yield machine
    else:
        for machine in machines:
            yield machine
