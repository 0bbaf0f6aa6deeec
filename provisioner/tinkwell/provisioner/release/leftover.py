"""Removes the runs that operations have left on this machine and that no provisioner watches.

A provisioner that takes an operation first removes every run of the release that it does not adopt: earlier operations
may have ended while their owners were dead, and calls without effects are made again. It kills a run that another
provisioner claims and watches, but leaves the removal to that provisioner, which still has to read how the run ended.
It lifts the claim to a run that another provisioner is about to start; without the claim the run does not start.

A release without an unfinished operation needs no run, so `sweep` removes all of its runs.
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

# How often `clear` tries to remove runs while the runtime does not answer, and how long it waits in between.
TRIES = 30
PAUSE_SECONDS = 2.0
# The message of an operation that cannot begin because runs could not be removed.
NOT_CLEARED = (
    "what an earlier operation left running on this engine cannot be removed; the provisioner's log says why. "
    "Remove it, and try again"
)


async def clear(runtime: port.Runtime, claims: run_claim.Claims, release_id: str, *, needed: Container[RunKey]) -> bool:
    """Remove all runs of a release but those `needed`; return False if that fails for about a minute."""
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
    """Return the runs with effects that an operation's former owner may have left; they keep running."""
    return frozenset(
        RunKey(RunKind.RELEASE, work.release.id, step.id, step.attempt)
        for node in work.nodes
        for step in node.steps
        if step.state is State.RUNNING and step.kind.has_effects
    )


async def sweep(runtime: port.Runtime, claims: run_claim.Claims, held: Iterable[RunKey], busy: Container[str]) -> None:
    """Remove the runs of `held` whose releases are not `busy`, unless another provisioner watches them."""
    idle = [key for key in held if key.owner not in busy]
    others = await asyncio.to_thread(claims.others, RunKind.RELEASE) if idle else frozenset[RunKey]()
    await _all(_remove(runtime, key) for key in idle if key not in others)


async def _all(works: Iterable[Awaitable[None]]) -> None:
    """Await all works, one after the other; then raise the first error, if there was one."""
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
    # A run that nobody watches is removed, and one that has not begun, so that it cannot begin.
    if run.key not in watched or not await run.was_fed():
        await run.remove()
