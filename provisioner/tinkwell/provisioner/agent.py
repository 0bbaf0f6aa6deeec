"""Carries out one action on this machine, from the report that it begins to the report of how it ended.

Order is everything here, because this process may die between any two lines:

    1  report RUNNING            intent before effect: without it nothing is started
    2  start the run             its name is the action's and the attempt's, so it can be found again
    3  send its output, wait for its end, kill it at its deadline
    4  report the end            after the output, so that nobody reads an end without it
    5  remove the run            only now, so that a successor still finds how it ended

Where a hook is due, the run is left as it is: it marks that the hook is not done, and `hook` removes it. Where the
report was refused, and there may be a hook, it is left as well, and the next look decides.

A successor finds the action RUNNING and adopts it: it enters at 3 with the run it finds. Where there is none, the
action has FAILED as lost. It may have run, wholly or in part; it is not run again, since nobody can tell whether that
is harmless.

Reports are repeated until the server answers. Where the answer is that the action is over (cancelled, say), its run is
removed and nothing more is said.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from tinkwell.client import errors, model
from tinkwell.core import hook
from tinkwell.core.decide import RunKey
from tinkwell.core.kind import State
from tinkwell.provisioner import boot, retry, shipper, spec
from tinkwell.provisioner import hook as hook_run
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)

# The end of a run that did not end by itself is reported after so long, though its last output is still on its way,
LAST_OUTPUT_SECONDS = 1.0
# which then gets some more time.
OUTPUT_SECONDS = 30.0
# An adopted run that is past its deadline gets so long to show that it ended while nobody watched.
ADOPTION_SECONDS = 1.0
# Who is told to stop in the middle of the last steps gets so long for them.
LAST_SECONDS = 3.0
MAX_MESSAGE_CHARACTERS = 1000

_REFUSALS = (errors.NotFound, errors.IllegalTransition, errors.WrongWorker)


class ReportApi(shipper.LogApi, Protocol):
    """What carrying out an action needs of the server."""

    async def report(
        self,
        workflow_id: str,
        *,
        action_id: str,
        worker_id: str,
        state: State,
        attempt: int,
        seconds: float,
        message: str,
        exit_code: int | None,
    ) -> model.Reported:
        """Move an action on; a repetition changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is reported about an ended attempt."""

    state: State
    message: str
    seconds: float
    exit_code: int | None = None


class Job:
    """An action that is being carried out. Whoever made it may stop it."""

    def __init__(self, key: RunKey, action: model.Action) -> None:
        self.key = key
        self.action = action
        # Once the server knows the end, or wants to know none, what is left is clearing up.
        self.is_settled = False
        # The server did not let it begin.
        self.was_refused = False
        # That was because another workflow runs on one of its machines.
        self.was_blocked = False
        # What there is of its run is left where it is: for its hook, or for the next look to decide upon.
        self.leaves_run = False
        # The report of this job ended the action, and this is to follow.
        self.hook: hook.Hook | None = None
        # What is to happen at once when the action has succeeded and the server knows it.
        self.on_success: Callable[[], None] | None = None
        # It was begun because the action before it had succeeded, without a look.
        self.is_follower = False
        # The next action has begun.
        self.has_follower = False
        # Events of its workflow were left aside because of it.
        self.has_missed = False
        # A hook that could not be brought to its end; it is not tried again at once.
        self.is_unfinished = False
        self.stop_reason = ""
        self._is_reporting_end = False
        self._stop = asyncio.Event()

    def stop(self, reason: str) -> None:
        """Ask for the run to be killed and removed, without another report."""
        if not self._stop.is_set():
            self.stop_reason = reason
            self._stop.set()

    def leave(self, reason: str) -> None:
        """Ask for the run to be left to its hook, as the action has ended; nothing follows where that is known here."""
        if not self._is_reporting_end and not self._stop.is_set():
            self.leaves_run = True
            self.stop(reason)

    def report_end(self) -> None:
        """Note that the end is being reported; the answer says what follows."""
        self._is_reporting_end = True

    def settle(self, outcome: Outcome, reported: model.Reported | None) -> None:
        """Note what the answer to the report of the end was, None for a refusal, which does not say what follows."""
        self.is_settled = True
        action = self.action
        if reported is None:
            self.leaves_run = bool(action.on_failure or action.on_timeout)
            return
        # An attempt that is followed by another one leaves its action PENDING, and has no hook.
        ended = reported.state or outcome.state
        due = hook.due(ended, on_failure=action.on_failure, on_timeout=action.on_timeout)
        self.leaves_run = due is not None
        # Of a repetition nobody knows how long ago the end was, and whether its hook is done: a look will tell.
        self.hook = due if reported.revision else None
        if ended is State.SUCCEEDED and reported.revision and self.on_success is not None:
            self.on_success()

    async def raise_when_stopped(self) -> None:
        """Wait for `stop`, and raise `StoppedError`."""
        await self._stop.wait()
        raise StoppedError


class StoppedError(Exception):
    """The action is to be stopped."""


class Agent:
    """Carries out actions in a runtime."""

    def __init__(self, api: ReportApi, runtime: port.Runtime, boots: boot.Notes) -> None:
        self._api = api
        self._runtime = runtime
        self._boots = boots
        self._hooks = hook_run.Hooks(api, runtime)

    async def start(self, job: Job) -> None:
        """Carry out an action from its beginning; returns when it has ended here, however it ended."""
        await self._until_stopped(job, self._start)

    async def adopt(self, job: Job, remaining_seconds: float | None) -> None:
        """Carry on with an action that the server believes to be running."""
        await self._until_stopped(job, lambda job: self._adopt(job, remaining_seconds))

    async def run_hook(self, job: Job, *, is_first: bool) -> None:
        """Run the hook that the job's key names, or take up the one that a predecessor began."""
        await self._until_stopped(job, lambda job: self._run_hook(job, is_first=is_first))

    async def discard(self, key: RunKey, reason: str) -> None:
        """Kill and remove a run that nobody watches; where that fails it is logged, and the run stays held."""
        await _to_its_end(self._discard(key, reason))

    async def _discard(self, key: RunKey, reason: str) -> None:
        try:
            run = await self._runtime.find(key)
            if run is not None:
                logger.info("a run is stopped", extra=_fields(key) | {"reason": reason})
                await run.kill()
                await run.remove()
        except port.RunError as error:
            logger.warning("a run cannot be removed", extra=_fields(key) | {"cause": str(error)})

    async def _until_stopped(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> None:
        """Do the work; where the job is stopped meanwhile, abandon it and discard the run."""
        try:
            async with asyncio.TaskGroup() as group:
                guard = group.create_task(job.raise_when_stopped(), name="guard")
                await work(job)
                guard.cancel()
        except* StoppedError:
            job.is_settled = True
            if not job.leaves_run:
                await self.discard(job.key, job.stop_reason)

    async def _run_hook(self, job: Job, *, is_first: bool) -> None:
        job.is_unfinished = not await self._hooks.run(job.key, job.action, is_first=is_first)

    async def _start(self, job: Job) -> None:
        reported = await self._report(job, Outcome(state=State.RUNNING, message="started", seconds=0.0))
        if reported is None:
            job.was_refused = True
            return
        logger.info("an action begins", extra=_fields(job.key) | {"image": job.action.image})
        await self._carry_out(job, reported.remaining_seconds, lambda: self._begin(job))

    async def _begin(self, job: Job) -> port.Run:
        if job.action.reboots:
            await boot.note(self._boots, job.key)
        return await self._runtime.start(spec.of(job.key, job.action))

    async def _adopt(self, job: Job, remaining_seconds: float | None) -> None:
        logger.info("an action is adopted", extra=_fields(job.key))
        if job.action.reboots:
            elapsed = boot.elapsed_seconds(job.action, remaining_seconds)
            if await boot.is_over(self._boots, job.key, elapsed_seconds=elapsed):
                await self._conclude_rebooted(job)
                return
        remaining = None if remaining_seconds is None else max(remaining_seconds, ADOPTION_SECONDS)
        await self._carry_out(job, remaining, lambda: self._find(job.key))

    async def _conclude_rebooted(self, job: Job) -> None:
        """Report the success of an action that has rebooted its machine; what its run came to does not count."""
        outcome = Outcome(state=State.SUCCEEDED, message="its machine has rebooted", seconds=0.0)
        try:
            run = await self._runtime.find(job.key)
        except port.RunError as error:
            logger.warning("what is left of a run cannot be had", extra=_fields(job.key) | {"cause": str(error)})
            run = None
        if run is None:
            await self._settle(job, outcome)
        else:
            await self._follow(job, run, asyncio.sleep(0, outcome))

    async def _find(self, key: RunKey) -> port.Run:
        run = await self._runtime.find(key)
        if run is None:
            raise port.RunError(port.Reason.LOST, "lost: its run is not there, and it is not run twice")
        return run

    async def _carry_out(
        self, job: Job, remaining_seconds: float | None, obtain: Callable[[], Awaitable[port.Run]]
    ) -> None:
        """Get hold of the run and see it through to the report of its end."""
        began = asyncio.get_running_loop().time()
        deadline = None if remaining_seconds is None else began + remaining_seconds
        try:
            async with asyncio.timeout_at(deadline):
                run = await obtain()
        except TimeoutError:
            await self._give_up(job, _timed_out("before it ran", began))
        except port.RunError as error:
            await self._give_up(job, _failed(error, began))
        else:
            await self._follow(job, run, self._outcome(job, run, deadline))

    async def _give_up(self, job: Job, outcome: Outcome) -> None:
        """Report the end of what did not run, and, while the server may be away, make sure that it does not."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.discard(job.key, outcome.message), name="discard")
            await self._settle(job, outcome)

    async def _follow(self, job: Job, run: port.Run, ending: Awaitable[Outcome]) -> None:
        """Watch a run to its end, report that, and remove the run."""
        async with asyncio.TaskGroup() as group:
            output = group.create_task(shipper.ship(self._api, run), name="output")
            outcome = await ending
            patience = LAST_OUTPUT_SECONDS if outcome.exit_code is None else None
            await asyncio.wait([output], timeout=patience)
            await _to_its_end(self._conclude(job, run, outcome, output))

    async def _conclude(self, job: Job, run: port.Run, outcome: Outcome, output: asyncio.Task[None]) -> None:
        await self._settle(job, outcome)
        await asyncio.wait([output], timeout=OUTPUT_SECONDS)
        output.cancel()
        if job.leaves_run:
            return
        try:
            await run.remove()
        except port.RunError as error:
            logger.warning("a run cannot be removed", extra=_fields(job.key) | {"cause": str(error)})

    async def _outcome(self, job: Job, run: port.Run, deadline: float | None) -> Outcome:
        """Wait for the end of a run, or bring it about."""
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(deadline):
                ending = await (boot.wait(run) if job.action.reboots else run.wait())
        except TimeoutError:
            return await self._kill(run, began)
        except port.RunError as error:
            return _failed(error, began)
        note = f" ({ending.note})" if ending.note else ""
        return Outcome(
            state=State.FAILED if ending.code else State.SUCCEEDED,
            message=f"exited with code {ending.code}{note}",
            seconds=_since(began) if ending.seconds is None else ending.seconds,
            exit_code=ending.code,
        )

    async def _kill(self, run: port.Run, began: float) -> Outcome:
        try:
            await run.kill()
        except port.RunError as error:
            return _timed_out(f"and cannot be killed: {error}", began)
        return _timed_out("and was killed", began)

    async def _settle(self, job: Job, outcome: Outcome) -> None:
        """Report the end; from then on nobody expects anything of the job."""
        job.report_end()
        reported = await self._report(job, outcome)
        job.settle(outcome, reported)
        if reported is not None:
            logger.info(
                "an action has ended",
                extra=_fields(job.key) | {"state": outcome.state.value, "outcome": outcome.message},
            )

    async def _report(self, job: Job, outcome: Outcome) -> model.Reported | None:
        """Report until the server answers; None where it does not want the report, because the action is over."""
        key = job.key
        try:
            return await retry.until_answered(
                lambda: self._api.report(
                    key.workflow_id,
                    action_id=key.action_id,
                    worker_id=job.action.worker_id,
                    state=outcome.state,
                    attempt=key.attempt,
                    seconds=outcome.seconds,
                    message=outcome.message[:MAX_MESSAGE_CHARACTERS],
                    exit_code=outcome.exit_code,
                ),
                what=f"report {outcome.state}",
            )
        except _REFUSALS as error:
            job.was_blocked = isinstance(error, errors.MachineBusy)
            logger.info("a report was refused", extra=_fields(key) | {"cause": str(error)})
            return None


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do what is better not left half done; a caller that is cancelled still grants it some seconds."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAST_SECONDS)
        task.cancel()
        raise


def _failed(error: port.RunError, began: float) -> Outcome:
    return Outcome(state=State.FAILED, message=str(error), seconds=_since(began))


def _timed_out(what: str, began: float) -> Outcome:
    return Outcome(state=State.TIMEOUT, message=f"its deadline passed {what}", seconds=_since(began))


def _since(began: float) -> float:
    return round(asyncio.get_running_loop().time() - began, 3)


def _fields(key: RunKey) -> dict[str, object]:
    return {"workflow": key.workflow_id, "action": key.action_id, "attempt": key.attempt}
