"""Who a worker says that it is, which is the id of its machine, or should be.

A worker compares its id with those of the actions byte by byte, and runs none where they differ in no more than capital
letters; it hears of no error that its stream of workflows ends with, and asks again in silence. So an id is taken in
any spelling, and an address of the machine as well; what this worker is told then has the id as it spells it. What no
machine is known by is said in the log, for those who wait for that worker.
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

# So many workers are remembered that spell their ids otherwise, and so many ids that were said to be wrong.
MAX_REMEMBERED = 10_000


class WorkerIds:
    """Knows the ids of machines by what workers call them.

    A worker makes all its calls by one connection, so the other end of that tells whose spelling is to be used.
    """

    def __init__(self, machines: HardwareService) -> None:
        self._machines = machines
        self._spellings: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._told: OrderedDict[str, str] = OrderedDict()

    async def resolve(self, text: str) -> str:
        """Return the id of the machine that is meant. Raises `errors.InvalidField`, and `errors.NotFound` for an
        address that no machine has.
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
        """Return the same for a worker that asks for work, and remember how it spells its id. Raises as `resolve`."""
        try:
            worker_id = await self.resolve(text)
        except (errors.InvalidField, errors.NotFound) as error:
            self._say("a worker gets no work, since its id is no machine's", peer, text, str(error))
            raise
        self._spellings.pop((peer, worker_id), None)
        if text != worker_id:
            _remember(self._spellings, (peer, worker_id), text)
        try:
            await self._machines.find("id", worker_id)
        except errors.NotFound as error:
            self._say("a worker waits for work, and no machine has its id", peer, text, str(error))
        return worker_id

    def spelled(self, peer: str, worker_id: str) -> str:
        """Return the id of a machine as the worker at the other end spells it."""
        return self._spellings.get((peer, worker_id), worker_id)

    def _say(self, message: str, peer: str, text: str, cause: str) -> None:
        """Log what is wrong with an id, once: its worker asks again every few seconds."""
        shown = parse.excerpt(text)
        if shown not in self._told:
            _remember(self._told, shown, message)
            logger.warning(message, extra={"peer": peer, "worker": shown, "cause": cause})


def _remember(known: "OrderedDict[K, str]", key: K, text: str) -> None:
    known[key] = text
    if len(known) > MAX_REMEMBERED:
        known.popitem(last=False)
