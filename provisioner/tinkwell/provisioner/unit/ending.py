"""Reports the end of attempts: an attempt is committed or has failed, and the answer says what the unit runs next.

The state file of a charm of ops follows the server's answer: it is kept if the attempt was committed, and restored if
not, before anything else runs.
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
# How long an agent that stops tries to hand back each running event.
HAND_BACK_SECONDS = 2.0
# The server's answers to the end of an attempt if the event has ended otherwise, or will be given again.
ENDED = (errors.CommitRefused, errors.IllegalTransition, errors.NotFound)


async def next_event(host: Host, unit_id: str) -> Granted | NoEvent:
    """Ask the server what a unit runs next; raises the `errors.Error` that it answers."""

    async def ask(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        return _held(await host.api.next_event(token, unit_id), asked_at)

    return await host.call(ask, what="get the next event of a unit")


async def find(host: Host, unit_id: str) -> Outcome | None:
    """Return the outcome of an earlier attempt that the server does not have yet, None if there is none.

    If the charm's state file does not have the digest that the outcome names, the outcome is dropped, and the attempt
    is lost.
    """
    outcome = await asyncio.to_thread(host.outcomes.find, unit_id)
    if outcome is None or not outcome.state:
        return outcome
    state = host.folders.unit(unit_id).state
    if await asyncio.to_thread(state.fits, outcome.state):
        return outcome
    logger.warning(
        "the outcome of an event does not match its charm's state file; it is dropped, and the event counts as lost",
        extra={"event": outcome.event_id},
    )
    await asyncio.to_thread(state.restore)
    await asyncio.to_thread(host.outcomes.drop, unit_id)
    return None


async def commit(host: Host, outcome: Outcome) -> Granted | NoEvent:
    """Commit an outcome that is on the disk, and drop it once the server has accepted or refused it.

    Raises the `errors.Error` that the server answers: the event has failed, or another agent runs it, or it is gone.
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
        logger.warning(
            "the server refused to commit an event of a unit; its effects are dropped",
            extra={"event": outcome.event_id, "cause": str(error)},
        )
        await asyncio.to_thread(state.restore)
        await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
        raise
    # This order is safe: as long as the outcome is on the disk, it is sent again, and the answer is the same.
    await asyncio.to_thread(state.keep)
    await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
    return following


async def fail(host: Host, given: Granted, why: str, *, is_lost: bool = False) -> Granted | NoEvent:
    """Restore the charm's state file, and report that the attempt has failed."""
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
    """Report that an attempt was ended because this agent stops, unless its outcome is on the disk. It is tried once.

    A task is never repeated, so it is reported as FAILED. If the server cannot be told, that outcome stays on the disk
    for the next agent.
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
        # The attempt then counts as lost, as if this agent had died.
        logger.info(
            "an event could not be handed back to the server before this agent stops; the server will count it as lost",
            extra={"event": grant.event.id, "cause": str(error)},
        )


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
