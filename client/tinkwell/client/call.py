"""One call: its time limit, its metadata, its retries, and the translation of what gRPC raises.

No error of gRPC leaves this module. A call is tried again only if it may safely happen twice, if no server answered,
and within the time limit of the whole call.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar, cast

from grpc import aio

from tinkwell.client import backoff, errors

Q = TypeVar("Q")
R = TypeVar("R")

TRIES = 4
_ACTOR_KEY = "x-tinkwell-actor"


class Caller:
    """Makes the calls of one client."""

    def __init__(
        self,
        channel: aio.Channel,
        address: str,
        *,
        token: str | None = None,
        actor: str | None = None,
        timeout_seconds: float = 30.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.channel = channel
        self.address = address
        self.timeout_seconds = timeout_seconds
        self._metadata = _metadata(token, actor)
        self._sleep = sleep

    async def unary(self, method: aio.UnaryUnaryMultiCallable[Q, R], request: Q, *, may_repeat: bool) -> R:
        """Make a call with one answer; raises an `errors.Error`."""

        async def call(seconds: float) -> R:
            with translated(self.address):
                return await method(request, timeout=seconds, metadata=self._metadata)

        return await self._try(call, may_repeat=may_repeat)

    async def upload(
        self, method: aio.StreamUnaryMultiCallable[Q, R], requests: Callable[[], Iterator[Q]], *, may_repeat: bool
    ) -> R:
        """Make a call with many messages and one answer. Each try sends all messages. Raises an `errors.Error`."""

        async def call(seconds: float) -> R:
            try:
                with translated(self.address):
                    return await method(requests(), timeout=seconds, metadata=self._metadata)
            except errors.Internal as error:
                if error.reason:
                    raise
                # gRPC raises this if a call ends while a message is being written.
                raise errors.Unavailable(
                    f"no server is available at {self.address}: the connection was lost"
                ) from error

        return await self._try(call, may_repeat=may_repeat)

    async def _try(self, call: Callable[[float], Awaitable[R]], *, may_repeat: bool) -> R:
        """Make a call, and repeat it while no server answers; `call` is given the seconds that are left."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timeout_seconds
        pause = backoff.Backoff(first_seconds=0.1, longest_seconds=1.0)
        for tries_left in reversed(range(TRIES)):
            try:
                return await call(max(deadline - loop.time(), 0.0))
            except errors.Unavailable:
                delay = pause.next_seconds()
                if not (may_repeat and tries_left and loop.time() + delay < deadline):
                    raise
            await self._sleep(delay)
        raise AssertionError("the last try returns or raises")

    def stream(
        self, method: aio.UnaryStreamMultiCallable[Q, R], request: Q, *, silence_seconds: float | None = None
    ) -> "Stream[R]":
        """Begin a call with many answers; it ends with `DeadlineExceeded` if no answer comes for `silence_seconds`."""
        with translated(self.address):
            return Stream(method(request, metadata=self._metadata), self.address, silence_seconds)

    def exchange(self, method: aio.StreamStreamMultiCallable[Q, R]) -> aio.StreamStreamCall[Q, R]:
        """Begin a call in which both sides send many messages; the caller translates its errors, with `translated`."""
        with translated(self.address):
            return method(metadata=self._metadata)

    async def close(self) -> None:
        """Close the channel; open calls end with `Closed`."""
        await self.channel.close()


class Stream(Generic[R]):
    """The answers of one call, in order. `cancel` may be called by anyone, also while another task reads."""

    def __init__(self, call: aio.UnaryStreamCall[Any, R], address: str, silence_seconds: float | None) -> None:
        self._call = call
        self._address = address
        self._silence_seconds = silence_seconds

    async def read(self) -> R | None:
        """Wait for the next answer; None is the end. Raises an `errors.Error`, `Closed` after `cancel`."""
        answer = await within(self._silence_seconds, self._address, self._call.read())
        return None if answer is aio.EOF else cast(R, answer)

    def cancel(self) -> None:
        """End the call."""
        self._call.cancel()


@contextlib.contextmanager
def translated(address: str) -> Iterator[None]:
    """Turn the errors that gRPC raises in the block into `errors.Error`."""
    try:
        yield
    except aio.AioRpcError as error:
        raise errors.from_rpc(error, address) from error
    except aio.UsageError as error:
        raise errors.Closed from error
    except aio.BaseError as error:
        raise errors.Internal(f"gRPC failed: {error}") from error
    except asyncio.CancelledError as error:
        # gRPC raises this also if the call was cancelled, by `cancel` or with its channel, and the task was not.
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise errors.Closed from error


async def within(seconds: float | None, address: str, answer: Awaitable[R]) -> R:
    """Wait for an answer of gRPC for at most `seconds`, for ever with None; raises an `errors.Error`."""
    try:
        async with asyncio.timeout(seconds):
            with translated(address):
                return await answer
    except TimeoutError as error:
        raise errors.DeadlineExceeded(f"the server at {address} did not answer in time") from error


def _metadata(token: str | None, actor: str | None) -> tuple[tuple[str, str], ...]:
    pairs = []
    if token is not None:
        pairs.append(("authorization", f"Bearer {_visible('token', token)}"))
    if actor is not None:
        pairs.append((_ACTOR_KEY, _visible("actor", actor)))
    return tuple(pairs)


def _visible(name: str, value: str) -> str:
    # HTTP/2 metadata must be visible ASCII; gRPC would end the call with a text that does not name the field.
    if not value or not value.isascii() or not value.isprintable():
        raise errors.InvalidField.of(name, "must be visible ASCII characters")
    return value
