"""Does effects: tries until one is done or has failed for good, and writes down each try."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol, assert_never

from tinkwell.client import backoff
from tinkwell.provisioner.automation.effect import attempt, delivery_log, program, tally, webhook, workflow
from tinkwell.provisioner.automation.rule import evaluation, model

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
# How often the server may answer that it failed; while it does not answer at all, it is waited for.
START_ATTEMPTS = 8


class Doer(Protocol):
    """Does what one rule says."""

    async def attempt(self, effect: model.Effect) -> attempt.Attempt:
        """Try once."""

    async def close(self) -> None:
        """Release the resources that are held between tries."""


class Performer:
    """Does the effects of a rule set. As many of a rule at once as the rule allows; the others wait for their turn."""

    def __init__(
        self,
        doers: dict[str, Doer],
        log: delivery_log.DeliveryLog,
        rules: model.RuleSet,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._doers = doers
        self._log = log
        self._slots = {each.name: asyncio.Semaphore(each.concurrency) for each in rules.rules}
        self._sleep = sleep
        # Of each rule, by its name.
        self.tallies = {each.name: tally.Tally() for each in rules.rules}

    async def perform(self, effect: model.Effect) -> None:
        """Return when an effect is done or has failed for good; raises an `errors.Error` of `starter.FATAL`."""
        self.tallies[effect.rule.name].fired += 1
        async with self._slots[effect.rule.name]:
            pause = backoff.Backoff(first_seconds=FIRST_PAUSE_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
            number = 1
            while (again_in := await self._try(effect, number, pause)) is not None:
                await self._sleep(again_in)
                number += 1

    def skip(self, rule_name: str) -> None:
        """Count an event that a rule is skipped for, since its condition cannot be evaluated."""
        self.tallies[rule_name].skipped += 1

    async def _try(self, effect: model.Effect, number: int, pause: backoff.Backoff) -> float | None:
        """Try once; gives the seconds until the next try, None for none."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        tried = await self._doers[effect.rule.name].attempt(effect)
        again_in = None
        if tried.outcome is attempt.Outcome.FAILED and _may_repeat(effect.rule.action, number):
            again_in = max(pause.next_seconds(), tried.not_before_seconds)
        await self._log.write(effect, tried, number=number, seconds=loop.time() - began, again_in=again_in)
        if tried.outcome is attempt.Outcome.DONE:
            self.tallies[effect.rule.name].done += 1
        elif again_in is None:
            self.tallies[effect.rule.name].failed += 1
        return again_in


@contextlib.asynccontextmanager
async def open_doers(
    rules: model.RuleSet, api: workflow.WorkflowApi, evaluator: evaluation.Evaluator
) -> AsyncIterator[dict[str, Doer]]:
    """Open what does the effects of each rule, by the rules' names."""
    async with contextlib.AsyncExitStack() as stack:
        doers: dict[str, Doer] = {}
        for each in rules.rules:
            doers[each.name] = _doer(each, api, evaluator)
            stack.push_async_callback(doers[each.name].close)
        yield doers


def _doer(each: model.Rule, api: workflow.WorkflowApi, evaluator: evaluation.Evaluator) -> Doer:
    match each.action:
        case model.StartWorkflow() as action:
            return workflow.Starter(action, api, evaluator)
        case model.PostWebhook() as action:
            return webhook.Webhook(action, evaluator, concurrency=each.concurrency)
        case model.RunCommand() as action:
            return program.Program(action, evaluator)
        case _:
            assert_never(each.action)


def _may_repeat(action: model.Action, number: int) -> bool:
    match action:
        case model.StartWorkflow():
            return number < START_ATTEMPTS
        case model.PostWebhook(attempts=attempts) | model.RunCommand(attempts=attempts):
            return number < attempts
