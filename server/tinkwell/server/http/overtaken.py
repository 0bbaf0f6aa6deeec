"""Answers that uvicorn refuses, since another one has gone already: its own, or the application's.

The body of a request may turn out to be none, as one in pieces that are no chunks. uvicorn says so at once and closes
the connection, while the application is at its answer. This then is an error, logged with a traceback for each of them.
So is the refusal by uvicorn where the application has answered, or the refusal was said before.
"""

import asyncio
import logging

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http import h11_impl

logger = logging.getLogger(__name__)

_END_SECONDS = 5.0


class Overtaken:
    """Lets an application end quietly where its answer comes too late for its connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the application answer."""
        try:
            await self._app(scope, receive, send)
        except h11.LocalProtocolError as error:
            logger.info("an answer came too late", extra={"cause": str(error)})
            await _end(receive)


class Protocol(h11_impl.H11Protocol):
    """Refuses what is no HTTP as far as there is anything left to be said."""

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError as error:
            logger.info("a refusal came too late", extra={"cause": str(error)})
            self.transport.close()


async def _end(receive: Receive) -> None:
    """Wait until the connection is closed, since uvicorn complains of requests that end before and are not answered."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        logger.info("a connection stays open though it was to be closed")
