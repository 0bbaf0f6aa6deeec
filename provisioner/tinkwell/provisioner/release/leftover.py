"""What operations have left behind on this machine: runs of theirs that nobody sees to any more.

Whoever takes an operation makes sure first that nothing of its release runs here but what it is going to adopt: earlier
operations may have ended without their owners, and calls without effects are made once more. What another provisioner
watches by its claim is killed, too, but left to that one to remove, for it still has to read how it ended. What another
one was about to start loses its claim, without which it does not begin.

Of a release without an operation that has not ended, no run is needed, and all are removed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Container, Iterable

from tinkwell.client.release.model import Work
from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent.run_spec import fields
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

# What cannot be removed since the runtime does not answer is tried again so often, so long after.
TRIES = 30
PAUSE_SECONDS = 2.0
# Why an operation cannot begin where that has come to nothing.
NOT_CLEARED = (
    "what an earlier operation left running on this engine cannot be removed; the provisioner's log says why. "
    "Remove it, and try again"
)


async def clear(runtime: port.Runtime, claims: run_claim.Claims, release_id: str, *, needed: Container[RunKey]) -> bool:
    """See to it that nothing of a release runs here but what is needed; says whether it is so, within a minute."""
    watched: frozenset[RunKey] = frozenset()
    for attempt in range(1, TRIES + 1):
        try:
            watched |= await asyncio.to_thread(claims.others, RunKind.RELEASE, release_id)
            await asyncio.to_thread(claims.lift, RunKind.RELEASE, release_id, needed=needed)
            found = await runtime.find_owned(RunKind.RELEASE, release_id)
            await _all(_end(run, watched) for run in found if run.key not in needed)
        except (port.RunError, OSError) as error:
            log = logger.warning if attempt in (1, TRIES) else logger.debug
            log("what is left of a release cannot be removed", extra={"release": release_id, "cause": str(error)})
        else:
            return True
        await asyncio.sleep(PAUSE_SECONDS)
    return False


def adoptable(work: Work) -> frozenset[RunKey]:
    """Return the runs that an operation's former owner may have left and that have effects: those go on."""
    return frozenset(
        RunKey(RunKind.RELEASE, work.release.id, step.id, step.attempt)
        for node in work.nodes
        for step in node.steps
        if step.state is State.RUNNING and step.kind.has_effects
    )


async def sweep(runtime: port.Runtime, claims: run_claim.Claims, held: Iterable[RunKey], busy: Container[str]) -> None:
    """Remove the runs of `held` whose releases are not `busy`, unless somebody else watches them."""
    idle = [key for key in held if key.owner not in busy]
    others = await asyncio.to_thread(claims.others, RunKind.RELEASE) if idle else frozenset[RunKey]()
    await _all(_remove(runtime, key) for key in idle if key not in others)


async def _all(works: Iterable[Awaitable[None]]) -> None:
    """Do one after the other; raises the first error after the last of them."""
    problem: port.RunError | OSError | None = None
    for work in works:
        try:
            await work
        except (port.RunError, OSError) as error:
            problem = problem or error
    if problem is not None:
        raise problem


async def _remove(runtime: port.Runtime, key: RunKey) -> None:
    run = await runtime.find(key)
    if run is not None:
        logger.warning("a run is removed whose operation has ended", extra=fields(key))
        await run.remove()


async def _end(run: port.Run, watched: Container[RunKey]) -> None:
    logger.warning("a run of a former owner is stopped", extra=fields(run.key))
    await run.kill()
    # What has not begun must not begin any more.
    if run.key not in watched or not await run.was_fed():
        await run.remove()
