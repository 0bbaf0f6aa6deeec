"""Carries out one action on this machine, from the report that it begins to the report of how it ended.

Order is everything here, because this process may die between any two lines:

    1  report RUNNING            intent before effect: without it nothing is started
    2  start the run             its name is the action's and the attempt's, so it can be found again
    3  send its output, wait for its end, kill it at its deadline
    4  report the end            after the output, so that nobody reads an end without it
    5  remove the run            only now, so that a successor still finds how it ended

Where a hook is due, the run is left as it is: it marks that the hook is not done, and `hook` removes it. Where the
report was refused, and there may be a hook, it is left as well, and the next look decides.

A successor finds the action RUNNING and adopts it: it reports RUNNING once more, by which the server lets it have the
action, and enters at 3 with the run it finds. Where there is none, the action has FAILED as lost. It may have run,
wholly or in part; it is not run again, since nobody can tell whether that is harmless. Where another attempt may
follow, what is left of the former ones is removed before it starts.

Reports are made under a lease, and repeated until the server answers. Where the answer is that the action is over
(cancelled, say), its run is removed and nothing more is said. Where it is that the action is another's by now, the run
is left as it is, and the next look decides. A run that is let go on is claimed, so that others here leave it alone.
"""

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from tinkwell.client import errors
from tinkwell.client.workflow.model import Report, Reported
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.decide import RunKey
from tinkwell.provisioner.agent import deadline_kill, output_shipper, reboot, run_spec
from tinkwell.provisioner.agent import hook as hook_run
from tinkwell.provisioner.agent.job import Job, Outcome
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.queue import retry
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir import state_dir

logger = logging.getLogger(__name__)
T = TypeVar("T")

# The end of a run that did not end by itself is reported after so long, though its last output is still on its way,
LAST_OUTPUT_SECONDS = 1.0
# which then gets some more time.
OUTPUT_SECONDS = 30.0
# An adopted run that is past its deadline gets so long to show that it ended while nobody watched.
ADOPTION_SECONDS = 1.0
# Who is told to stop in the middle of the last steps gets so long for them.
LAST_SECONDS = 3.0
MAX_MESSAGE_CHARACTERS = 1000

_STARTED = Outcome(state=State.RUNNING, message="started", seconds=0.0)
_REFUSALS = (errors.NotFound, errors.IllegalTransition, errors.WrongWorker)


class ReportApi(output_shipper.LogApi, Protocol):
    """What carrying out an action needs of the server."""

    async def report(self, report: Report, *, then: Report | None = None) -> Reported:
        """Move an action on; a repetition changes nothing. `then` goes along, and is reported by itself as well."""


class Lease(Protocol):
    """What carrying out an action needs of the lease."""

    async def under(self, call: Callable[[int], Awaitable[Reported]]) -> Reported:
        """Call with the lease's token; raises `errors.LeaseLost` where what it is about is another's."""


class Agent:
    """Carries out actions in a runtime."""

    def __init__(
        self, api: ReportApi, runtime: port.Runtime, boots: reboot.Notes, *, lease: Lease, claims: run_claim.Claims
    ) -> None:
        self._api = api
        self._runtime = runtime
        self._boots = boots
        self._hooks = hook_run.Hooks(api, runtime)
        self._lease = lease
        self._claims = claims

    async def start(self, job: Job) -> None:
        """Carry out an action from its beginning; returns when it has ended here, however it ended."""
        await self._until_stopped(job, self._start)

    async def adopt(self, job: Job) -> None:
        """Carry on with an action that the server believes to be running."""
        await self._until_stopped(job, self._adopt)

    async def run_hook(self, job: Job, *, is_first: bool) -> None:
        """Run the hook that the job's key names, or take up the one that a predecessor began."""
        await self._until_stopped(job, lambda job: self._run_hook(job, is_first=is_first))

    async def discard(self, key: RunKey, reason: str) -> bool:
        """Kill and remove a run, unless somebody else watches it; False where that failed, and the run may be there."""
        return await _to_its_end(self._discard(key, reason))

    async def _discard(self, key: RunKey, reason: str) -> bool:
        try:
            if key.main in await asyncio.to_thread(self._claims.others, key.workflow_id):
                logger.info("a run is left to somebody else", extra=_fields(key))
            elif (run := await self._runtime.find(key)) is not None:
                logger.info("a run is stopped", extra=_fields(key) | {"reason": reason})
                await _remove(run)
        except (port.RunError, OSError) as error:
            logger.warning("a run cannot be removed", extra=_fields(key) | {"cause": str(error)})
            return False
        return True

    async def _until_stopped(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> None:
        """Do the work; where the job is stopped meanwhile, abandon it and discard the run."""
        if not await job.until_stopped(work(job)):
            job.is_settled = True
            if not job.leaves_run:
                job.is_unfinished = not await self.discard(job.key, job.stop_reason)

    async def _run_hook(self, job: Job, *, is_first: bool) -> None:
        try:
            if job.key.main in await asyncio.to_thread(self._claims.others, job.key.workflow_id):
                return
            self._claim(job.key.main)
        except (port.RunError, OSError) as error:
            logger.warning("a hook is not done; it is tried again", extra=_fields(job.key) | {"cause": str(error)})
            job.is_unfinished = True
        else:
            job.is_unfinished = not await self._hooks.run(job.key, job.action, is_first=is_first)

    async def _start(self, job: Job) -> None:
        reported = await self._report(job, _STARTED)
        if reported is None:
            job.was_refused = True
            return
        logger.info("an action begins", extra=_fields(job.key) | {"image": job.action.image})
        await self._carry_out(job, reported.remaining_seconds, lambda: self._begin(job))

    async def _adopt(self, job: Job) -> None:
        reported = await self._report(job, Outcome(state=State.RUNNING, message="adopted", seconds=0.0))
        if reported is None:
            job.was_refused = True
            return
        logger.info("an action is adopted", extra=_fields(job.key))
        left = reported.remaining_seconds
        if job.action.reboots:
            elapsed = reboot.elapsed_seconds(job.action, left)
            if await reboot.is_over(self._boots, job.key, elapsed_seconds=elapsed):
                await self._conclude_rebooted(job)
                return
        remaining = None if left is None else max(left, ADOPTION_SECONDS)
        limit = deadline_kill.passed_limit(job.action, left)
        await self._carry_out(job, remaining, lambda: self._find(job.key), limit_seconds=limit)

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

    async def _begin(self, job: Job) -> port.Run:
        """Start the run, once nothing is left of former attempts: they may have been others', and lost."""
        self._claim(job.key)
        if job.key.attempt > 1:
            for former in await self._runtime.find_former(job.key):
                logger.warning("the run of a former attempt is stopped", extra=_fields(former.key))
                await _remove(former)
        if job.action.reboots:
            await reboot.note(self._boots, job.key)
        return await self._runtime.start(run_spec.of(job.key, job.action))

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

    async def _carry_out(
        self,
        job: Job,
        remaining_seconds: float | None,
        obtain: Callable[[], Awaitable[port.Run]],
        *,
        limit_seconds: float | None = None,
    ) -> None:
        """Get hold of the run and see it through to the report of its end; `limit_seconds` is one that has passed."""
        began = asyncio.get_running_loop().time()
        ends_at = None if remaining_seconds is None else began + remaining_seconds
        try:
            async with asyncio.timeout_at(ends_at):
                run = await obtain()
        except TimeoutError:
            await self._give_up(job, _timed_out("before it ran", began))
        except port.RunError as error:
            await self._give_up(job, _failed(error, began))
        else:
            await self._follow(job, run, self._outcome(job, run, ends_at, limit_seconds))

    async def _give_up(self, job: Job, outcome: Outcome) -> None:
        """Report the end of what did not run, and, while the server may be away, make sure that it does not."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.discard(job.key, outcome.message), name="discard")
            await self._settle(job, outcome)

    async def _follow(self, job: Job, run: port.Run, ending: Awaitable[Outcome]) -> None:
        """Watch a run to its end, report that, and remove the run."""
        async with asyncio.TaskGroup() as group:
            output = group.create_task(output_shipper.ship(self._api, run), name="output")
            outcome = await ending
            patience = LAST_OUTPUT_SECONDS if outcome.exit_code is None else None
            await asyncio.wait([output], timeout=patience)
            await _to_its_end(self._conclude(job, run, outcome, output))

    async def _conclude(self, job: Job, run: port.Run, outcome: Outcome, output: asyncio.Task[None]) -> None:
        reported = await self._settle(job, outcome)
        if job.was_taken:  # and so is its output
            output.cancel()
        if not output.done():
            await asyncio.wait([output], timeout=OUTPUT_SECONDS)
            output.cancel()
        if job.leaves_run:
            return
        if reported is None or not reported.revision:
            await self._discard(job.key, "its action had ended before that was reported")
            return
        try:
            await run.remove()
        except port.RunError as error:
            logger.warning("a run cannot be removed", extra=_fields(job.key) | {"cause": str(error)})

    async def _outcome(self, job: Job, run: port.Run, ends_at: float | None, limit_seconds: float | None) -> Outcome:
        """Wait for the end of a run, or bring it about."""
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(ends_at):
                ending = await (reboot.wait(run) if job.action.reboots else run.wait())
        except TimeoutError:
            return await self._kill(run, began)
        except port.RunError as error:
            return _failed(error, began)
        if deadline_kill.was_kept(ending, limit_seconds):
            return dataclasses.replace(_timed_out("and was killed", began), seconds=ending.seconds or 0.0)
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

    async def _settle(self, job: Job, outcome: Outcome) -> Reported | None:
        """Report the end; from then on nobody expects anything of the job."""
        job.report_end(outcome)
        reported = await self._report(job, outcome, follower=job.follower)
        job.settle(outcome, reported)
        if reported is not None:
            logger.info(
                "an action has ended",
                extra=_fields(job.key) | {"state": outcome.state.value, "outcome": outcome.message},
            )
        return reported

    async def _report(self, job: Job, outcome: Outcome, *, follower: Job | None = None) -> Reported | None:
        """Report until the server answers; None where it does not want the report, because the action is over.

        The start of the job that follows goes along the first time. It is no matter if that comes to nothing.
        """
        key = job.key

        def call(token: int) -> Awaitable[Reported]:
            report = _told(job, outcome, token)

            def once() -> Awaitable[Reported]:
                nonlocal follower
                following, follower = follower, None
                then = None if following is None else _told(following, _STARTED, token)
                return self._api.report(report, then=then)

            return retry.until_answered(once, what=f"report {outcome.state}")

        try:
            return await self._lease.under(call)
        except _REFUSALS as error:
            job.was_blocked = isinstance(error, errors.MachineBusy)
            job.was_taken = isinstance(error, errors.LeaseLost)
            logger.info("a report was refused", extra=_fields(key) | {"cause": str(error)})
            return None


def _told(job: Job, outcome: Outcome, token: int) -> Report:
    return Report(
        workflow_id=job.key.workflow_id,
        action_id=job.key.action_id,
        worker_id=job.action.worker_id,
        state=outcome.state,
        attempt=job.key.attempt,
        seconds=outcome.seconds,
        message=outcome.message[:MAX_MESSAGE_CHARACTERS],
        exit_code=outcome.exit_code,
        lease_token=token,
    )


async def _remove(run: port.Run) -> None:
    await run.kill()
    await run.remove()


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Do what is better not left half done; a caller that is cancelled still grants it some seconds."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
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
