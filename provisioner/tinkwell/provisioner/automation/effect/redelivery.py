"""Repeats an effect that is in the delivery log: once, immediately, and under the same key."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from tinkwell import client
from tinkwell.client.watch.event import Event
from tinkwell.provisioner.automation.effect import attempt, delivery_log, performer
from tinkwell.provisioner.automation.rule import evaluation, model

# The event is there already, or it never comes.
_EVENT_SECONDS = 30.0


class RedeliveryError(Exception):
    """What keeps an effect from being done again, as a sentence."""


async def redeliver(
    server: client.Client, rules: model.RuleSet, directory: Path, keys: Iterable[str]
) -> AsyncGenerator[tuple[str, attempt.Attempt], None]:
    """Try the effects of these keys once each, in this order, and write that down; yields how each went.

    Raises `RedeliveryError` for one that the log, the rules, or the server know nothing of, and `client.errors.Error`.
    """
    log = delivery_log.DeliveryLog(directory, rules.name)
    known = await asyncio.to_thread(delivery_log.latest, directory, rules.name)
    by_name = {each.name: each for each in rules.rules}
    loop = asyncio.get_running_loop()
    async with (
        evaluation.Evaluator() as evaluator,
        performer.open_doers(rules, server.workflows, evaluator) as doers,
    ):
        for key in keys:
            last = known.get(key)
            if last is None:
                raise RedeliveryError(f"the delivery log of {rules.name} has nothing about {key}")
            if last.rule not in by_name:
                raise RedeliveryError(f"{key}: there is no rule {last.rule} any more")
            event = await _event(server, last)
            effect = model.Effect(rule_set=rules.name, rule=by_name[last.rule], event=event)
            began = loop.time()
            tried = await doers[last.rule].attempt(effect)
            number, seconds = last.attempt + 1, loop.time() - began
            await log.write(effect, tried, number=number, seconds=seconds, again_in=None)
            yield key, tried


async def _event(server: client.Client, last: delivery_log.Delivery) -> Event:
    """Read the event of an effect from the log of the server, where it has its revision."""
    try:
        async with asyncio.timeout(_EVENT_SECONDS):
            async with server.events.watch(from_revision=last.revision, reconnect=False) as events:
                event = await anext(aiter(events))
    except (client.errors.HistoryGone, TimeoutError) as error:
        raise RedeliveryError(f"{last.key}: the server no longer has the event") from error
    # Another log may have had another event there.
    if not last.key.startswith(f"{event.id}:"):
        raise RedeliveryError(f"{last.key}: the server no longer has the event")
    return event
