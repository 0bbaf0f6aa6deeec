"""The names that workers give themselves. The name should be the id of the worker's machine.

A worker compares its id with those of the actions byte by byte, and runs no action whose id differs only in capital
letters. It ignores the error that its stream of workflows ends with, and silently asks again. So the server accepts an
id in any spelling, and also an address of the machine. Its answers to this worker have the id in the worker's spelling.
A name that belongs to no machine is logged, for operators who wait for that worker.
"""

import logging
from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar, assert_never

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.core.workflow import devices
from tinkwell.core.workflow.devices import WorkerKind
from tinkwell.server.hardware.service.operations import HardwareService

logger = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)

# The number of workers with another spelling of their ids, and of reported wrong ids, that are remembered.
MAX_REMEMBERED = 10_000


class WorkerIds:
    """Finds the ids of machines by the names that workers give.

    A worker makes all its calls over one connection, so the other end of the connection decides on the spelling.
    """

    def __init__(self, machines: HardwareService) -> None:
        self._machines = machines
        self._spellings: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._told: OrderedDict[str, str] = OrderedDict()

    async def resolve(self, text: str) -> str:
        """Return the id of the named machine.

        Raises `errors.InvalidField`, and `errors.NotFound` for an unknown address.
        """
        worker = devices.parse_worker("worker_id", text)
        match worker.kind:
            case WorkerKind.HARDWARE_ID:
                return worker.value
            case WorkerKind.MAC:
                return (await self._machines.find("mac", worker.value)).id
            case WorkerKind.IP:
                return (await self._machines.find("ip", worker.value)).id
            case _:
                assert_never(worker.kind)

    async def greet(self, peer: str, text: str) -> str:
        """Return the same for a worker that asks for work, and remember its spelling of the id. Raises as `resolve`."""
        try:
            worker_id = await self.resolve(text)
        except (errors.InvalidField, errors.NotFound) as error:
            self._say("a worker gets no work, since its id is no machine's", peer, text, str(error))
            raise
        self._spellings.pop((peer, worker_id), None)
        try:
            await self._machines.find("id", worker_id)
        except errors.NotFound as error:
            self._say("a worker waits for work, and no machine has its id", peer, text, str(error))
            return worker_id
        # Ids that belong to no machine are not stored.
        if text != worker_id:
            _remember(self._spellings, (peer, worker_id), text)
        return worker_id

    def spelled(self, peer: str, worker_id: str) -> str:
        """Return the id of a machine in the spelling of the worker at the other end."""
        return self._spellings.get((peer, worker_id), worker_id)

    def _say(self, message: str, peer: str, text: str, cause: str) -> None:
        """Log once what is wrong with an id: its worker asks again every few seconds."""
        shown = parse.excerpt(text)
        if shown not in self._told:
            _remember(self._told, shown, message)
            logger.warning(message, extra={"peer": peer, "worker": shown, "cause": cause})


def _remember(known: "OrderedDict[K, str]", key: K, text: str) -> None:
    known[key] = text
    if len(known) > MAX_REMEMBERED:
        known.popitem(last=False)
