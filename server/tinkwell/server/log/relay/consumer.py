"""The stream's messages in order, by push consumers with flow control that are looked after here.

The library's own ordered consumer is not used: every message is judged by its revisions anyway. Full means: the node
sends no more until what it sent was taken; should it do so nevertheless, what finds no room is dropped. A drop, or a
consumer that died with its node, shows as a gap in the stream's sequence or as a missing heartbeat, and the consumer is
made again from behind the last message that was taken.
"""

import asyncio
import contextlib
from collections import deque

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api

from tinkwell.server.log.relay.broker import BrokerLost, Delivery
from tinkwell.server.log.relay.connection import REQUEST_SECONDS, lost
from tinkwell.server.log.relay.message import letter_of

_STATUS_CONTROL = "100"
_HEARTBEAT_SECONDS = 0.5
# Two heartbeats may be late.
_LIFELESS_SECONDS = 1.5
_INACTIVE_SECONDS = 10.0
# Twice what flow control lets a node send unasked.
_PENDING_BYTES = 64 << 20
_PENDING_MESSAGES = 100_000


class JetStreamFeed:
    """Implements `Feed` by a push consumer that is made again whenever it has left something out."""

    def __init__(
        self,
        client: Client,
        jetstream: JetStreamContext,
        stream: str,
        changed: asyncio.Event,
        *,
        after: int | None,
    ) -> None:
        self._client = client
        self._jetstream = jetstream
        self._stream = stream
        self._changed = changed
        # The last message that was taken; None before the first of those to come.
        self._last = after
        self._renewed_behind: int | None = None
        self._inbox: _Inbox | None = None

    async def next(self, timeout_seconds: float) -> Delivery | None:
        """See `Feed.next`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        while (remaining := deadline - loop.time()) > 0:
            assert self._inbox is not None
            message = await self._inbox.take(min(remaining, _LIFELESS_SECONDS))
            if self._client.is_closed:
                raise BrokerLost("the connection was lost")
            if message is None:
                if remaining > _LIFELESS_SECONDS:
                    await self.renew()
                continue
            if await self._answer_control(message):
                continue
            with lost():
                sequence = message.metadata.sequence.stream
            if self._is_gap(sequence):
                await self.renew()
                continue
            self._last = sequence
            return Delivery(sequence, letter_of(message.headers or {}, message.data))
        return None

    async def renew(self) -> None:
        """Make a consumer of what follows the last message."""
        await self.close()
        self._renewed_behind = self._last
        inbox = _Inbox(self._client, self._changed)
        config = api.ConsumerConfig(
            deliver_subject=inbox.subject,
            deliver_policy=api.DeliverPolicy.NEW if self._last is None else api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=None if self._last is None else self._last + 1,
            ack_policy=api.AckPolicy.NONE,
            flow_control=True,
            idle_heartbeat=_HEARTBEAT_SECONDS,
            inactive_threshold=_INACTIVE_SECONDS,
            mem_storage=True,
            num_replicas=1,
        )
        with lost():
            self._inbox = inbox
            await inbox.open()
            await self._jetstream.add_consumer(self._stream, config)

    async def close(self) -> None:
        """Take no more; the consumer goes away by itself when nobody has listened for a while."""
        inbox, self._inbox = self._inbox, None
        if inbox is not None:
            with contextlib.suppress(nats.errors.Error, OSError, TimeoutError):
                await inbox.close()

    def _is_gap(self, sequence: int) -> bool:
        """Return whether messages before this one may still be had. Asked for once: what is gone does not come back."""
        return self._last is not None and sequence > self._last + 1 and self._renewed_behind != self._last

    async def _answer_control(self, message: Msg) -> bool:
        headers = message.headers or {}
        if headers.get(api.Header.STATUS.value) is None:
            return False
        # Answered when taken, not when received: this is what bounds how much is on the way.
        reply = message.reply or headers.get(api.Header.CONSUMER_STALLED.value, "")
        if headers[api.Header.STATUS.value] == _STATUS_CONTROL and reply:
            with lost():
                async with asyncio.timeout(REQUEST_SECONDS):
                    await self._client.publish(reply)
        return True


class _Inbox:
    """Where a consumer's messages arrive, bounded; what finds no room is dropped, which shows by its sequence."""

    def __init__(self, client: Client, changed: asyncio.Event) -> None:
        self._client = client
        self._changed = changed
        self.subject = client.new_inbox()
        self._messages: deque[Msg] = deque()
        self._bytes = 0
        self._stack = contextlib.AsyncExitStack()

    async def open(self) -> None:
        async with asyncio.timeout(REQUEST_SECONDS):
            subscription = await self._client.subscribe(self.subject, cb=self._receive)
        self._stack.push_async_callback(subscription.unsubscribe)

    async def close(self) -> None:
        async with asyncio.timeout(REQUEST_SECONDS):
            await self._stack.aclose()

    async def take(self, timeout_seconds: float) -> Msg | None:
        if not self._messages:
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._changed.wait()
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._bytes -= len(message.data)
        return message

    async def _receive(self, message: Msg) -> None:
        if self._bytes + len(message.data) <= _PENDING_BYTES and len(self._messages) < _PENDING_MESSAGES:
            self._messages.append(message)
            self._bytes += len(message.data)
            self._changed.set()
