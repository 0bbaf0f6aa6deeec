"""Connections to NATS, and how the library's errors become ours.

A connection is to one node and ends with it: the library's own reconnecting would hide that messages were missed.
"""

import asyncio
import contextlib
import logging
import random
import ssl
from collections.abc import Iterator

import nats.errors
from nats.aio.client import Client

from tinkwell.server.log.relay.broker import BrokerLost
from tinkwell.server.log.relay.option import Options

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 2.0
_CONNECT_SECONDS = 2
_CLOSE_SECONDS = 2
_PING_SECONDS = 2


class Connector:
    """Connects to whichever node answers first."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._tls = _tls(options)

    async def connect(self, changed: asyncio.Event) -> Client:
        """Return a connection, which sets the event when it ends. Raises `BrokerLost`."""

        async def tell() -> None:
            changed.set()

        failure: Exception = BrokerLost("no address of the broker is set")
        for url in random.sample(self._options.urls, len(self._options.urls)):
            client = Client()
            try:
                with lost():
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        await client.connect(
                            servers=[url],
                            name="tinkwell relay",
                            allow_reconnect=False,
                            connect_timeout=_CONNECT_SECONDS,
                            ping_interval=_PING_SECONDS,
                            error_cb=_report,
                            closed_cb=tell,
                            user_credentials=self._options.credentials,
                            tls=self._tls,
                        )
            except BaseException as error:
                await close(client)
                if not isinstance(error, BrokerLost):
                    raise
                failure = error
            else:
                return client
        raise failure


async def close(client: Client) -> None:
    """Close a connection, or what the library leaves open of one when it gives up or is cut off."""
    # A client that has not begun to connect has nothing open, and the library asserts that nobody closes it.
    with contextlib.suppress(nats.errors.Error, OSError, TimeoutError, AssertionError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await client.close()


def _tls(options: Options) -> ssl.SSLContext | None:
    """Return what to trust and to show; None leaves it to the address. Raises `OSError` for unreadable files."""
    if options.ca is None and options.cert is None:
        return None
    context = ssl.create_default_context(cafile=str(options.ca) if options.ca else None)
    if options.cert is not None:
        context.load_cert_chain(options.cert, options.key)
    return context


async def _report(error: Exception) -> None:
    logger.info("the broker's client reports", extra={"cause": f"{type(error).__name__}: {error}"})


@contextlib.contextmanager
def lost() -> Iterator[None]:
    """Turn whatever says that the broker is out of reach into `BrokerLost`."""
    try:
        yield
    except (nats.errors.Error, OSError, EOFError, TimeoutError, ValueError) as error:
        _raise_if_cancelled()
        raise BrokerLost(f"{type(error).__name__}: {error}") from error
    _raise_if_cancelled()


def _raise_if_cancelled() -> None:
    # The library waits in ways that can answer a cancellation with a result or with an error of its own.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
