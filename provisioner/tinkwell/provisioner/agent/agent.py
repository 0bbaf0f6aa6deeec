"""Carries out one run on this machine, from the report of its start to the removal of its remains.

The order of the steps is that of `run_state`, which says why it must hold:

    run        1  the reporter reports that the run begins, and the server permits it
               2  the run is started, or found if it is adopted
               3  its output is sent, and its end is awaited; it is killed at its `deadline`
    conclude   4  the reporter reports how it ended
               5  the run is removed, unless the server's answer says that it is needed
    clear      -  the run is killed and removed if it was stopped during one of these steps

If a run is adopted and cannot be found, it has FAILED as lost. It may have run, wholly or in part, and is not run
again, because nobody can tell whether that is harmless. Before a second or later attempt starts, the remains of earlier
attempts are removed. A run is claimed in the state directory once the server permits it, so that other provisioners on
this machine leave it alone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import deadline, hook, output_shipper, reboot, run_spec
from tinkwell.provisioner.agent.job import Fate, Job, Outcome, Permit, Receipt, Refusal
from tinkwell.provisioner.agent.run_state import RunState
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir import state_dir

logger = logging.getLogger(__name__)
T = TypeVar("T")

# How long the report of the end waits for the last output of a run that did not end by itself.
LAST_OUTPUT_SECONDS = 1.0
# How long that output may still take after the report.
OUTPUT_SECONDS = 30.0
# How long a step that should not be left half done may go on after this process was told to stop.
LAST_SECONDS = 3.0

_REBOOTED = Outcome(state=State.SUCCEEDED, message="its machine has rebooted", seconds=0.0)


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run, which is still to be reported. `run` and the task `output` are None if there was no run."""

    outcome: Outcome
    run: port.Run | None = None
    output: "asyncio.Task[None] | None" = None


class Reporter(output_shipper.Sink, Protocol):
    """Reports one run to the server. Each call repeats its report until the server has answered."""

    async def begin(self, *, adopts: bool) -> Permit | Refusal:
        """Report that the run begins, or goes on here."""

    async def end(self, outcome: Outcome) -> Receipt:
        """Report how the run ended."""


class Agent:
    """Carries out runs in a runtime."""

    def __init__(self, runtime: port.Runtime, boots: reboot.Notes, claims: run_claim.Claims) -> None:
        self._runtime = runtime
        self._boots = boots
        self._claims = claims
        self._hooks = hook.Hooks(runtime)

    async def run(
        self, job: Job, work: run_spec.Work, reporter: Reporter, beside: asyncio.TaskGroup, *, adopts: bool
    ) -> Ended | None:
        """Bring a run to its end. Work that may outlast that, such as sending the last output, is a task of `beside`.

        Returns None if the server refuses the run; the refusal is then in `job.refusal`.
        """
        permit = await reporter.begin(adopts=adopts)
        if isinstance(permit, Refusal):
            job.refusal = permit
            job.move(RunState.REFUSED)
            return None
        job.move(RunState.RUNNING)
        message = "an action is adopted" if adopts else "an action begins"
        logger.info(message, extra=run_spec.fields(work.key) | {"image": work.run.image})
        run, ending = await self._obtain(work, permit.remaining_seconds, adopts=adopts)
        output = None if run is None else beside.create_task(output_shipper.ship(reporter, run), name="output")
        outcome = await ending
        if output is not None:
            await asyncio.wait([output], timeout=LAST_OUTPUT_SECONDS if outcome.exit_code is None else None)
        elif outcome is not _REBOOTED:
            # The report of the end may take long, if the server is away. The run must not go on meanwhile.
            beside.create_task(_to_its_end(self._discard(work.key, outcome.message)), name="discard")
        job.move(RunState.REPORTING)
        return Ended(outcome, run, output)

    async def run_hook(self, job: Job, work: run_spec.Work, sink: output_shipper.Sink, *, is_first: bool) -> None:
        """Run a hook to its end, or adopt the hook that a predecessor began; see `hook`."""
        is_done = True
        try:
            if work.key.main not in await asyncio.to_thread(self._claims.others, work.key.kind, work.key.owner):
                self._claim(work.key.main)
                is_done = await self._hooks.run(work, sink, is_first=is_first)
        except (port.RunError, OSError) as error:
            logger.warning(
                "a hook could not be run; it is tried again later",
                extra=run_spec.fields(work.key) | {"cause": str(error)},
            )
            is_done = False
        job.move(RunState.GONE if is_done else RunState.STUCK)

    async def conclude(self, job: Job, ended: Ended, reporter: Reporter) -> None:
        """Report the end, and remove or keep the run as the server's answer says; sets `job.receipt`."""
        await _to_its_end(self._conclude(job, ended, reporter))

    async def clear(self, job: Job) -> None:
        """Finish the job: kill and remove the run if a stop was asked for."""
        if job.state is RunState.LEAVING:
            job.move(RunState.LEFT)
        elif job.state is RunState.STOPPING:
            job.move(RunState.CLEARING)
        if job.state is RunState.CLEARING:
            await _to_its_end(self._clear(job, run=None))

    async def _obtain(
        self, work: run_spec.Work, remaining_seconds: float | None, *, adopts: bool
    ) -> tuple[port.Run | None, Awaitable[Outcome]]:
        """Start or find the run. Returns it, None if there is no run, and what to await for its outcome."""
        if adopts and await reboot.is_over(self._boots, work, remaining_seconds):
            # The action has succeeded by the reboot, however the run itself ended.
            return await self._find_leftover(work.key), asyncio.sleep(0, _REBOOTED)
        if adopts:
            limit, obtaining = deadline.Deadline.of_adopted(work, remaining_seconds), self._find(work.key)
        else:
            limit, obtaining = deadline.Deadline(remaining_seconds), self._start(work)
        found = await limit.obtain(obtaining)
        if isinstance(found, Outcome):
            return None, asyncio.sleep(0, found)
        return found, limit.enforce(found, reboot.wait(found) if work.reboots else found.wait())

    async def _find_leftover(self, key: RunKey) -> port.Run | None:
        try:
            return await self._runtime.find(key)
        except port.RunError as error:
            logger.warning(
                "the run of an action that has rebooted its machine cannot be looked up; its output may be lost",
                extra=run_spec.fields(key) | {"cause": str(error)},
            )
            return None

    async def _start(self, work: run_spec.Work) -> port.Run:
        """Remove the runs of earlier attempts, which may have been other provisioners', and start the run."""
        self._claim(work.key)
        if work.key.attempt > 1:
            for former in await self._runtime.find_former(work.key):
                logger.warning("the run of an earlier attempt is killed and removed", extra=run_spec.fields(former.key))
                await _remove(former)
        if work.prepare is not None:
            await work.prepare()
        if work.reboots:
            await reboot.note(self._boots, work.key)
        return await self._runtime.start(work.run)

    async def _find(self, key: RunKey) -> port.Run:
        self._claim(key)
        run = await self._runtime.find(key)
        if run is None:
            raise port.RunError(port.Reason.LOST, "lost: its run is not there, and it is not run twice")
        return run

    def _claim(self, key: RunKey) -> None:
        try:
            self._claims.take(key)
        except (OSError, state_dir.StateError) as error:
            message = f"the state directory cannot be used: {error}"
            raise port.RunError(port.Reason.UNAVAILABLE, message) from error

    async def _conclude(self, job: Job, ended: Ended, reporter: Reporter) -> None:
        receipt = job.receipt = await reporter.end(ended.outcome)
        job.move(RunState.CLEARING)
        if ended.output is not None:
            if receipt.fate is not Fate.TAKEN:
                await asyncio.wait([ended.output], timeout=OUTPUT_SECONDS)
            ended.output.cancel()
        await self._clear(job, ended.run)

    async def _clear(self, job: Job, run: port.Run | None) -> None:
        """Leave the run if the server's answer says that it is needed, and otherwise remove it."""
        fate = Fate.DISCARDED if job.receipt is None else job.receipt.fate
        if fate in (Fate.NEEDED, Fate.TAKEN):
            job.move(RunState.LEFT)
            return
        reason = job.reason or "its action had ended already when its end was reported"
        is_gone = await self._discard(job.key, reason, ended=run if fate is Fate.REMOVED else None)
        job.move(RunState.GONE if is_gone else RunState.STUCK)

    async def _discard(self, key: RunKey, reason: str, *, ended: port.Run | None = None) -> bool:
        """Kill and remove a run, unless another provisioner claims it; False if that failed and it may be there."""
        try:
            if ended is not None:
                await ended.remove()
            elif key.main in await asyncio.to_thread(self._claims.others, key.kind, key.owner):
                logger.info("a run is left to another provisioner, which claims it", extra=run_spec.fields(key))
            elif (run := await self._runtime.find(key)) is not None:
                logger.info("a run is stopped", extra=run_spec.fields(key) | {"reason": reason})
                await _remove(run)
        except (port.RunError, OSError) as error:
            logger.warning("a run cannot be removed", extra=run_spec.fields(key) | {"cause": str(error)})
            return False
        return True


async def _remove(run: port.Run) -> None:
    await run.kill()
    await run.remove()


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await work that should not be left half done; it gets `LAST_SECONDS` more if the caller is cancelled."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAST_SECONDS)
        task.cancel()
        raise
