"""Keeps several workers running behind one gRPC port and one HTTP port.

    start ──▶ starting ──▶ ready ──▶ ended ──▶ pause ──▶ starting …
                 │                     │
                 └── the first time: the whole ends     └── so soon, so often in a row: the whole ends

A worker that fails at its first start would fail again, so all of them end, with its reason. After that each worker is
restarted by itself, after a growing pause. When it is stopped, the supervisor lets all workers finish their calls, at
the same time.
"""

import asyncio
import contextlib
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar

import pydantic
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tinkwell.server.app import main
from tinkwell.server.app.http_application import create_application, create_listener
from tinkwell.server.app.workers import exposition, member, port
from tinkwell.server.http.probe import Checks, Probe
from tinkwell.server.settings import Settings

logger = logging.getLogger(__name__)

T = TypeVar("T")

COMMAND = (sys.executable, "-m", "tinkwell.server.app.workers")
# A worker that lives this long has started well, even if it ends later.
_HEALTHY_SECONDS = 10.0
_MOST_EARLY_ENDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The pauses before a worker is started again, which double, and the time that it may take to answer and to end.

    `stop_seconds` come after the grace for its calls.
    """

    first_pause_seconds: float = 0.1
    longest_pause_seconds: float = 10.0
    ask_seconds: float = 4.0
    stop_seconds: float = 10.0


_PACE = Pace()


class WorkersFailed(Exception):
    """The workers do not keep running. The text says why."""


async def run(
    settings: Settings,
    *,
    ready: Callable[[main.Addresses], None],
    command: Sequence[str] = COMMAND,
    pace: Pace = _PACE,
) -> None:
    """Run the workers until cancelled. `ready` is called once, when each of them accepts calls.

    Must be called from the main thread. Raises `WorkersFailed`, and `errors.Unavailable` for a port that is in use.
    """
    async with contextlib.AsyncExitStack() as held:
        ports = {"port": held.enter_context(port.reserved(host=settings.host, port=settings.port))}
        if settings.tink_port is not None:
            ports["tink_port"] = held.enter_context(port.reserved(host=settings.host, port=settings.tink_port))
        shared = settings.model_copy(update=ports)
        keepers = [Keeper(worker, shared, command, pace) for worker in range(settings.workers)]
        phone_home = await held.enter_async_context(main.open_phone_home(settings))
        application = create_application(_probe(keepers), version=metadata.version("tinkwell"), phone_home=phone_home)
        serves = asyncio.Event()
        http = create_listener(application, settings, serves=serves)
        async with http.listen() as http_address, asyncio.TaskGroup() as tasks:
            for keeper in keepers:
                tasks.create_task(keeper.run(), name=f"worker-{keeper.worker}")
            grpc_addresses = [await keeper.first_ready for keeper in keepers]
            addresses = main.Addresses(
                grpc=grpc_addresses[0], http=http_address, tink=_beside(grpc_addresses[0], ports.get("tink_port"))
            )
            serves.set()
            logger.info(
                "the server is ready",
                extra={"grpc": addresses.grpc, "http": addresses.http, "workers": settings.workers},
            )
            ready(addresses)


class Keeper:
    """Keeps one worker running."""

    def __init__(self, worker: int, settings: Settings, command: Sequence[str], pace: Pace) -> None:
        self.worker = worker
        self._pace = pace
        self.restarts = 0
        self.first_ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._command = command
        self._order = {"worker": worker, "settings": _revealed(settings)}
        self._patience_seconds = settings.shutdown_grace_seconds + pace.stop_seconds
        self._member: member.Member | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the worker accepts calls, as far as is known without asking it."""
        return self._member is not None and self._member.is_ready

    async def run(self) -> None:
        """Start the worker again each time it ends."""
        early_ends = 0
        while True:
            began = time.monotonic()
            try:
                reason = await self._live()
            except member.NotStarted as error:
                reason = f"worker {self.worker} could not be started: {error}"
            if not self.first_ready.done():
                raise WorkersFailed(reason)
            is_early = time.monotonic() - began < _HEALTHY_SECONDS
            early_ends = early_ends + 1 if is_early else 0
            if early_ends >= _MOST_EARLY_ENDS:
                raise WorkersFailed(f"{reason}, {early_ends} times in a row soon after its start")
            pause = min(self._pace.first_pause_seconds * 2**early_ends, self._pace.longest_pause_seconds)
            logger.error("a worker ended and is started again", extra={"worker": self.worker, "cause": reason})
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311
            self.restarts += 1

    async def _live(self) -> str:
        """Run one process to its end, and return a sentence about its end."""
        async with member.started(
            self._command, self._order, patience_seconds=self._patience_seconds, ask_seconds=self._pace.ask_seconds
        ) as running:
            logger.info("a worker was started", extra={"worker": self.worker, "pid": running.pid})
            self._member = running
            running.ready.add_done_callback(self._note_ready)
            try:
                end = await running.follow()
            finally:
                self._member = None
        return running.failure or f"worker {self.worker} ended by itself with {end}"

    def _note_ready(self, address: "asyncio.Future[str]") -> None:
        if not self.first_ready.done():
            self.first_ready.set_result(address.result())

    async def liveness(self) -> bool | str:
        """Return whether the worker answers. One that is being restarted counts as alive."""
        if self._member is None or not self._member.is_ready:
            return True
        return await self._member.ask("liveness") == {} or "it does not answer"

    async def readiness(self) -> bool | str:
        """Return True if the worker serves, or else the reason why it does not."""
        if self._member is None or not self._member.is_ready:
            return "it is being started"
        checks: dict[str, bool | str] | None = await self._member.ask("readiness")
        if checks is None:
            return "it does not answer"
        wrong = [f"{name}: {result}" for name, result in checks.items() if result is not True]
        return ", ".join(wrong) or True

    async def metrics(self) -> str | None:
        """Return its exposition, or None if it cannot be had."""
        if self._member is None or not self._member.is_ready:
            return None
        text: str | None = await self._member.ask("metrics")
        return text


def _beside(address: str, number: int | None) -> str:
    """Return the address of another port on the same host, or an empty text without a number."""
    return "" if number is None else f"{address.rpartition(':')[0]}:{number}"


def _probe(keepers: Sequence[Keeper]) -> Probe:
    async def liveness() -> Checks:
        return {f"worker {worker}": result for worker, result in (await _each(keepers, Keeper.liveness)).items()}

    async def readiness() -> Checks:
        return {f"worker {worker}": result for worker, result in (await _each(keepers, Keeper.readiness)).items()}

    async def metrics() -> bytes:
        texts = await _each(keepers, Keeper.metrics)
        told = {worker: text for worker, text in texts.items() if text is not None}
        return exposition.merge(told, own=_metrics(keepers))

    return Probe(liveness=liveness, readiness=readiness, metrics=metrics)


async def _each(keepers: Iterable[Keeper], question: Callable[[Keeper], Awaitable[T]]) -> dict[int, T]:
    async def answer(keeper: Keeper) -> T:
        return await question(keeper)

    async with asyncio.TaskGroup() as tasks:
        answers = {keeper.worker: tasks.create_task(answer(keeper)) for keeper in keepers}
    return {worker: task.result() for worker, task in answers.items()}


def _metrics(keepers: Iterable[Keeper]) -> list[Metric]:
    up = GaugeMetricFamily("tinkwell_worker_up", "1 while the worker accepts calls.", labels=[exposition.LABEL])
    restarts = CounterMetricFamily(
        "tinkwell_worker_restarts", "How often the worker was started again.", labels=[exposition.LABEL]
    )
    for keeper in keepers:
        up.add_metric([str(keeper.worker)], int(keeper.is_ready))
        restarts.add_metric([str(keeper.worker)], keeper.restarts)
    return [up, restarts]


def _revealed(settings: Settings) -> dict[str, Any]:
    """Return the settings for the worker: in JSON's types, and including secrets."""

    def plain(value: Any) -> Any:
        match value:
            case pydantic.SecretStr():
                return value.get_secret_value()
            case dict():
                return {name: plain(item) for name, item in value.items()}
            case None | bool() | int() | float() | str():
                return value
            case _:
                return str(value)

    return {name: plain(value) for name, value in settings.model_dump().items()}
