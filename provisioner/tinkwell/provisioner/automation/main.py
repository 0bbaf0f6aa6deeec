"""From rules to an engine that runs, alone in its process or beside the driver."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from pathlib import Path

from tinkwell import client
from tinkwell.provisioner.automation import engine, position
from tinkwell.provisioner.automation.effect import attempt, delivery_log, performer, redelivery, tally
from tinkwell.provisioner.automation.rule import evaluation, model

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a process which runs rules needs to know."""

    server: str
    token: str | None
    tls: client.TLS | None
    rules: model.RuleSet
    state_dir: Path


async def run(server: client.Client, rules: model.RuleSet, state_dir: Path) -> None:
    """Run rules until cancelled; returns when another process has claimed their position.

    Raises `client.errors.Error` for what only an operator can mend.
    """
    log = delivery_log.DeliveryLog(state_dir / "automation", rules.name)
    async with (
        evaluation.Evaluator() as evaluator,
        performer.open_doers(rules, server.workflows, evaluator) as doers,
    ):
        doing = performer.Performer(doers, log, rules)
        worker = engine.Engine(server.events, rules, doing.perform, evaluator, on_skip=doing.skip)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(tally.tell(rules.name, doing.tallies), name="tally")
                await worker.run()
        except BaseExceptionGroup as failures:
            error = _first(failures)
            if not isinstance(error, position.Fenced):
                raise error from failures
            logger.warning("the rules run elsewhere, and stop here", extra={"rules": rules.name, "cause": str(error)})


async def run_until_signal(settings: Settings) -> None:
    """Run rules until SIGTERM or SIGINT, or until another process has claimed their position."""
    actor = f"automation@{socket.gethostname()}"
    loop = asyncio.get_running_loop()
    async with client.connect(settings.server, token=settings.token, tls=settings.tls, actor=actor) as server:
        work = asyncio.current_task()
        assert work is not None
        is_told = False

        def stop() -> None:
            nonlocal is_told
            is_told = True
            work.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        try:
            await run(server, settings.rules, settings.state_dir)
        except asyncio.CancelledError:
            if not is_told:
                raise
            logger.info("the rules stop", extra={"rules": settings.rules.name})
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


async def redeliver(settings: Settings, keys: Iterable[str]) -> AsyncGenerator[tuple[str, attempt.Attempt], None]:
    """Do effects again, as `redelivery.redeliver` does."""
    actor = f"automation@{socket.gethostname()}"
    async with client.connect(settings.server, token=settings.token, tls=settings.tls, actor=actor) as server:
        directory = settings.state_dir / "automation"
        async with contextlib.aclosing(redelivery.redeliver(server, settings.rules, directory, keys)) as tries:
            async for key, tried in tries:
                yield key, tried


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what ended the engine where it is one that is expected to, and otherwise the whole group."""
    expected = failures.subgroup((position.Fenced, client.errors.Error))
    first: BaseException | None = expected
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first or failures
