"""A worker: a whole server that answers health questions through its supervisor instead of its own HTTP port."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pydantic

from tinkwell.core import errors
from tinkwell.core.process_log import redaction, setup
from tinkwell.server.app import main, process
from tinkwell.server.app.workers.channel import Channel
from tinkwell.server.database import readiness
from tinkwell.server.http.probe import Probe
from tinkwell.server.secret import keys
from tinkwell.server.settings import Settings

logger = logging.getLogger(__name__)

# Errors that the supervisor can report in a sentence. Any other error is a fault, whose traceback is logged.
_EXPECTED = (
    errors.TinkwellError,
    keys.InvalidKeys,
    readiness.NotUsable,
    pydantic.ValidationError,
    OSError,
    TimeoutError,
)


class SupervisorGone(Exception):
    """The supervisor has ended, so this worker must end, too."""


async def run(control: socket.socket) -> int:
    """Serve with the supervisor's settings until cancelled or until the supervisor has gone. Return the exit code."""
    channel = await Channel.over(control)
    try:
        order = await channel.receive()
        if order is None:
            return 1
        return await _serve(channel, order)
    finally:
        await channel.close()


async def _serve(channel: Channel, order: dict[str, Any]) -> int:
    try:
        settings = Settings(**order["settings"])
        redaction.register(*settings.secrets())
        setup.set_up(settings.log_level, log_format=settings.log_format, worker=int(order["worker"]))
        await main.serve(
            settings,
            ready=lambda addresses: channel.post({"ready": addresses.grpc}),
            side=lambda probe: _answering(channel, probe),
            shares_port=True,
        )
    except* SupervisorGone:
        logger.warning("the supervisor has gone, so this worker ends")
    except* _EXPECTED as group:
        error = process.first(group)
        channel.post({"failed": str(error) or type(error).__name__})
    return 1


@asynccontextmanager
async def _answering(channel: Channel, probe: Probe) -> AsyncIterator[str]:
    async with asyncio.TaskGroup() as tasks:
        answering = tasks.create_task(_answer(channel, probe), name="control")
        try:
            yield ""
        finally:
            answering.cancel()


async def _answer(channel: Channel, probe: Probe) -> None:
    while (question := await channel.receive()) is not None:
        match question["ask"]:
            case "liveness":
                answer: Any = dict(await probe.liveness())
            case "readiness":
                answer = dict(await probe.readiness())
            case "metrics":
                answer = (await probe.metrics()).decode()
            case unknown:
                raise AssertionError(f"nobody asks for {unknown}")
        await channel.send({"id": question["id"], "answer": answer})
    raise SupervisorGone
