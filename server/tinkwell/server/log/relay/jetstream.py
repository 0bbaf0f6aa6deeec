"""The broker as a stream of NATS JetStream: implements `tinkwell.server.log.relay.broker`.

Loaded by `extra`, as the library is optional. Only this module and those that it imports know it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.aio.client import Client
from nats.js import JetStreamContext, api
from nats.js import errors as js_errors

from tinkwell.server.log.relay.broker import Delivery, Letter, Refused
from tinkwell.server.log.relay.connection import REQUEST_SECONDS, Connector, close, lost
from tinkwell.server.log.relay.consumer import JetStreamFeed
from tinkwell.server.log.relay.message import HEADER_BYTES, headers_of, letter_of
from tinkwell.server.log.relay.option import Options

logger = logging.getLogger(__name__)

_WRONG_LAST_SEQUENCE = 10071
_NAME_IN_USE = 10058


class JetStream:
    """Implements `Broker`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._connector = Connector(options)

    @asynccontextmanager
    async def session(self) -> AsyncIterator["JetStreamSession"]:
        """See `Broker.session`."""
        # Set when something arrives, and when the connection ends.
        changed = asyncio.Event()
        client = await self._connector.connect(changed)
        try:
            session = JetStreamSession(client, self._options, changed)
            await session.ensure_stream()
            yield session
        finally:
            await close(client)


class JetStreamSession:
    """Implements `Session`."""

    def __init__(self, client: Client, options: Options, changed: asyncio.Event) -> None:
        self._client = client
        self._options = options
        self._changed = changed
        self._jetstream = JetStreamContext(client, timeout=REQUEST_SECONDS)

    @property
    def payload_bytes(self) -> int:
        """See `Session.payload_bytes`."""
        return int(self._client.max_payload) - HEADER_BYTES

    async def ensure_stream(self) -> None:
        """Make the stream if there is none."""
        with lost():
            try:
                await self._jetstream.stream_info(self._options.stream)
            except js_errors.NotFoundError:
                await self._add_stream()

    async def last(self) -> Delivery:
        """See `Session.last`. Brings the stream's limits to what is set here as well."""
        with lost():
            info = await self._jetstream.stream_info(self._options.stream)
            await self._update_limits(info.config)
            sequence = int(info.state.last_seq)
            try:
                message = await self._jetstream.get_msg(self._options.stream, seq=sequence) if sequence else None
            except js_errors.NotFoundError:
                message = None
        return Delivery(sequence, letter_of(message.headers or {}, message.data or b"") if message else None)

    async def publish(self, letter: Letter, *, expected: int) -> int:
        """See `Session.publish`."""
        with lost():
            try:
                stored = await self._jetstream.publish(
                    self._options.subject,
                    letter.payload or b"",
                    stream=self._options.stream,
                    headers=headers_of(letter, expected=expected),
                )
            except js_errors.APIError as error:
                if error.err_code == _WRONG_LAST_SEQUENCE:
                    raise Refused(error.description or "another message is the last one") from error
                raise
        return int(stored.seq)

    @asynccontextmanager
    async def feed(self, *, after: int | None) -> AsyncIterator["JetStreamFeed"]:
        """See `Session.feed`."""
        feed = JetStreamFeed(self._client, self._jetstream, self._options.stream, self._changed, after=after)
        try:
            await feed.renew()
            yield feed
        finally:
            await feed.close()

    async def _add_stream(self) -> None:
        try:
            await self._jetstream.add_stream(self._config())
        except js_errors.BadRequestError as error:
            # Another server has made it just now.
            if error.err_code != _NAME_IN_USE:
                raise

    async def _update_limits(self, current: api.StreamConfig) -> None:
        wanted = self._config()
        if _limits(current) == _limits(wanted):
            return
        try:
            await self._jetstream.update_stream(wanted)
        except js_errors.APIError as error:
            # The stream does its work as it is.
            logger.warning("the stream keeps other limits than are set", extra={"cause": error.description})

    def _config(self) -> api.StreamConfig:
        options = self._options
        return api.StreamConfig(
            name=options.stream,
            description="Tinkwell's event log, relayed",
            subjects=[options.subject],
            retention=api.RetentionPolicy.LIMITS,
            discard=api.DiscardPolicy.OLD,
            storage=api.StorageType.FILE,
            max_age=options.age_seconds,
            max_bytes=options.stream_bytes,
            num_replicas=options.replicas,
        )


def _limits(config: api.StreamConfig) -> tuple[object, ...]:
    return config.subjects, config.max_age, config.max_bytes, config.num_replicas
