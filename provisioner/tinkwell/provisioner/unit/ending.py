"""What becomes of attempts: they are committed or have failed, and each end says what the unit is to run next.

The file that a charm of ops keeps is held to the answer: before anything else is run, it is as the server has it.
"""

import asyncio
import logging

from tinkwell.client import errors, retry
from tinkwell.client.unit.agent import worker
from tinkwell.client.unit.agent.grant import Grant, NoEvent
from tinkwell.client.unit.agent.outcome import Outcome
from tinkwell.core.unit.effect import NO_EFFECTS, TaskOutcome
from tinkwell.core.unit.kinds import TaskState
from tinkwell.provisioner.unit import granted
from tinkwell.provisioner.unit.granted import Granted
from tinkwell.provisioner.unit.host import Host

logger = logging.getLogger(__name__)

MAX_MESSAGE = 1_000
_STOPS = "its agent stops"
# An agent that stops takes so long at most to say so of each event that runs.
HAND_BACK_SECONDS = 2.0
# What the end of an attempt is answered where the event has ended otherwise, or is to be heard again.
ENDED = (errors.CommitRefused, errors.IllegalTransition, errors.NotFound)


async def next_event(host: Host, unit_id: str) -> Granted | NoEvent:
    """Ask what a unit is to run; raises an `errors.Error` that is the server's answer."""

    async def ask(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        return _held(await host.api.next_event(token, unit_id), asked_at)

    return await host.call(ask, what="get the next event of a unit")


async def find(host: Host, unit_id: str) -> Outcome | None:
    """Find what a former attempt has come to, and is not told yet.

    One whose charm's file is another one than it says is worth nothing: that attempt is lost.
    """
    outcome = await asyncio.to_thread(host.outcomes.find, unit_id)
    if outcome is None or not outcome.state:
        return outcome
    state = host.folders.unit(unit_id).state
    if await asyncio.to_thread(state.fits, outcome.state):
        return outcome
    logger.warning("an outcome does not fit the state of its charm", extra={"event": outcome.event_id})
    await asyncio.to_thread(state.restore)
    await asyncio.to_thread(host.outcomes.drop, unit_id)
    return None


async def commit(host: Host, outcome: Outcome) -> Granted | NoEvent:
    """Commit an outcome that is on the disk, and drop it once the server has judged it, whatever it says.

    Raises an `errors.Error` that is the server's answer: the event has failed then, or is another's, or no more.
    """
    state = host.folders.unit(outcome.unit_id).state

    async def tell(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        answer = await host.api.commit(token, outcome.event_id, outcome.attempt, outcome.effects, task=outcome.task)
        return _held(answer, asked_at)

    try:
        following = await host.call(tell, what="commit an event")
    except retry.HOPELESS:
        raise
    except errors.Error as error:
        logger.warning("an event of a unit is not committed", extra={"event": outcome.event_id, "cause": str(error)})
        await asyncio.to_thread(state.restore)
        await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
        raise
    # In this order: while the outcome is there, it is told again, and the answer is the same.
    await asyncio.to_thread(state.keep)
    await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
    return following


async def fail(host: Host, given: Granted, why: str, *, is_lost: bool = False) -> Granted | NoEvent:
    """Say that an attempt has failed, once the charm's file is as before it."""
    grant = given.grant
    logger.warning("an event of a unit has failed", extra={"unit": grant.unit, "cause": why})
    await asyncio.to_thread(host.folders.unit(grant.unit_id).state.restore)

    async def tell(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        return _held(
            await host.api.fail(token, grant.event.id, grant.event.attempt, why[:MAX_MESSAGE], is_lost=is_lost),
            asked_at,
        )

    return await host.call(tell, what="fail an event")


async def hand_back(host: Host, given: Granted) -> None:
    """Say that an attempt was ended because this agent stops, unless its outcome is on the disk. It is tried once.

    A task is not made again, whatever has ended it: it has FAILED. What could not be told is on the disk for who
    follows.
    """
    grant = given.grant
    if await asyncio.to_thread(host.outcomes.find, grant.unit_id) is not None:
        return
    await asyncio.to_thread(host.folders.unit(grant.unit_id).state.restore)
    try:
        async with asyncio.timeout(HAND_BACK_SECONDS):
            token = await host.lease.token()
            if grant.task is not None:
                await _fail_task(host, grant, token)
                return
            await host.api.fail(token, grant.event.id, grant.event.attempt, _STOPS, is_handed_back=True)
    except (TimeoutError, errors.Error, OSError) as error:
        # It is lost then, as where nobody could say so.
        logger.info("an attempt is not handed back", extra={"event": grant.event.id, "cause": str(error)})


async def _fail_task(host: Host, grant: Grant, token: int) -> None:
    failed = TaskOutcome(state=TaskState.FAILED, message=_STOPS)
    outcome = Outcome(
        unit_id=grant.unit_id,
        event_id=grant.event.id,
        attempt=grant.event.attempt,
        lease_token=token,
        effects=worker.encode(NO_EFFECTS),
        task=failed,
    )
    await asyncio.to_thread(host.outcomes.keep, outcome)
    await host.api.commit(token, outcome.event_id, outcome.attempt, outcome.effects, is_last=True, task=failed)
    await asyncio.to_thread(host.outcomes.drop, grant.unit_id)


def _held(following: Grant | NoEvent, asked_at: float) -> Granted | NoEvent:
    return Granted(following, asked_at) if isinstance(following, Grant) else following
