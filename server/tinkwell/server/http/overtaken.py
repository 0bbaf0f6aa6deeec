"""Answers that uvicorn refuses, since it has answered by itself already.

The body of a request may turn out to be none, as one in pieces that are no chunks. uvicorn says so at once and closes
the connection, while the application is at its answer. This then is an error, logged with a traceback for each of them.
"""

import asyncio
import logging

import h11
from starlette.types import ASGIApp, Receive, Scope, Send

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


async def _end(receive: Receive) -> None:
    """Wait until the connection is closed, since uvicorn complains of requests that end before and are not answered."""
    try:
        async with asyncio.timeout(_END_SECONDS):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        logger.info("a connection stays open though it was to be closed")
