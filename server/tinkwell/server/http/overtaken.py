"""Handles answers that uvicorn refuses because another answer was sent already: its own, or the application's.

The body of a request may turn out to be invalid, such as a malformed chunk. uvicorn refuses it at once and closes the
connection while the application prepares its answer. That answer would then cause an error with a traceback in the log.
The same happens to uvicorn's refusal if the application has already answered, or if it has refused before.
"""

import asyncio
import logging

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http import h11_impl

logger = logging.getLogger(__name__)

_END_SECONDS = 5.0


class Overtaken:
    """Lets an application end quietly if its answer comes too late for its connection."""

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
    """Refuses data that is not HTTP, as long as an answer can still be sent."""

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError as error:
            logger.info("a refusal came too late", extra={"cause": str(error)})
            self.transport.close()


async def _end(receive: Receive) -> None:
    """Wait until the connection is closed, because uvicorn complains about requests that end without an answer."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        logger.info("a connection stays open though it was to be closed")
