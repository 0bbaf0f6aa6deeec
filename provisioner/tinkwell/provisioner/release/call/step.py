"""One attempt at a step: its container, from the start or the adoption to the removal.

    start, adopt   1  `start` starts the container, if that is still permitted; `adopt` finds it
                   2  the attempt sends the container's output, waits for its end, and kills it after the timeout
                   3  the attempt reads the container's answer
    clear             removes the container, once the server has stored the result

The server has stored that the step is RUNNING before the attempt begins, so a provisioner that takes the operation over
knows which containers may exist. Only actions and removals are adopted. A container that did not get all of its input
is removed, since no successor can send the rest.

A container starts only while this provisioner holds the claim to it. The provisioner takes the claim before it asks for
the permission. A provisioner that adopts or stops a container takes the claim before it looks for the container. So a
container that it does not find never starts.

A request to stop interrupts the attempt, even while it fetches an image, and kills the container.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tinkwell.core.event.kinds import State
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.agent import output_shipper
from tinkwell.provisioner.agent.deadline import Deadline
from tinkwell.provisioner.agent.job import Outcome
from tinkwell.provisioner.agent.run_spec import fields
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.state_dir import state_dir

logger = logging.getLogger(__name__)

# How long the result of a call that was stopped waits for the call's last output.
LAST_OUTPUT_SECONDS = 1.0
# How long the removal of a container waits for the call's last output.
OUTPUT_SECONDS = 10.0
NEVER_RAN = "its owner died before it had begun"
NOT_FED = "its owner died before it had all of its input, and it was killed"
# A time that is in the past for every clock of an event loop.
_AT_ONCE = 0.0

# Waits until it is sure that this provisioner still has the step. The function that it returns says, in any thread,
# whether this has been true since then.
Permit = Callable[[], Awaitable[Callable[[], bool]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an attempt: SUCCEEDED, FAILED, TIMEOUT or CANCELLED.

    `answer` is set if the call was to answer, and `image_id` is then the id of the image that answered.
    """

    state: State
    message: str = ""
    exit_code: int | None = None
    answer: bytes = b""
    image_id: str = ""


class StepRun:
    """Runs one attempt, named by its key. Its output is sent by a task of `beside`, which may outlast the attempt."""

    def __init__(
        self,
        key: RunKey,
        *,
        runtime: port.Runtime,
        claims: run_claim.Claims,
        sink: output_shipper.Sink,
        secrets: Secrets,
        beside: asyncio.TaskGroup,
        outlives: bool,
    ) -> None:
        self.key = key
        # Whether the container keeps running when this process stops, for a successor to adopt.
        self.outlives = outlives
        self._runtime = runtime
        self._claims = claims
        self._sink = sink
        self._secrets = secrets
        self._beside = beside
        self._run: port.Run | None = None
        self._shipping: asyncio.Task[None] | None = None
        self._stopped: Result | None = None
        # Its deadline is moved into the past to interrupt the attempt.
        self._scope: asyncio.Timeout | None = None

    async def start(
        self,
        spec: port.RunSpec,
        *,
        timeout_seconds: float,
        permit: Permit,
        is_fetched: bool = False,
    ) -> Result:
        """Start the container and wait for its end; its timeout does not include the fetching of its image.

        `is_fetched` says that the engine has the image. `permit` is awaited right before the start.
        """

        async def start() -> Result:
            try:
                if not is_fetched:
                    await self._runtime.image_id(spec.image)
                result = None
                while result is None:
                    self._claim()
                    result = await self._start(spec, timeout_seconds, await permit())
            except port.RunError as error:
                return Result(state=State.FAILED, message=str(error))
            return result

        return await self._until_stopped(start)

    async def adopt(self, limit: Deadline) -> Result:
        """Find the container that a former owner started, and wait for its end; CANCELLED if it never ran."""
        return await self._until_stopped(lambda: self._adopt(limit))

    def stop(self, state: State, reason: str) -> None:
        """Kill the container, and end the attempt in this state; only the first request counts."""
        if self._stopped is None:
            self._stopped = Result(state=state, message=reason)
            if self._scope is not None:
                self._scope.reschedule(_AT_ONCE)

    async def clear(self, *, is_taken: bool = False) -> bool:
        """Remove the container and the claim; return False if that failed.

        `is_taken` says that another provisioner may have taken the operation. A container that it claims is left to it.
        """
        try:
            if is_taken and self.key in await asyncio.to_thread(self._claims.others, self.key.kind, self.key.owner):
                logger.info("a run is left to somebody else", extra=fields(self.key))
                return True
            await self._end_output()
            run = self._run or await self._runtime.find(self.key)
            if run is not None:
                await run.remove()
            self._claims.drop(self.key)
        except (port.RunError, OSError) as error:
            logger.warning("a run cannot be removed", extra=fields(self.key) | {"cause": str(error)})
            return False
        return True

    async def _until_stopped(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Do the work until it ends or a request to stop interrupts it; no part of it runs afterwards."""
        scope = asyncio.timeout(None)
        if self._stopped is None:
            try:
                async with scope:
                    self._scope = scope
                    return await work()
            except TimeoutError:
                if not scope.expired():
                    raise  # the work itself raised it
            finally:
                self._scope = None
        return await self._kill()

    async def _start(self, spec: port.RunSpec, timeout_seconds: float, is_ours: Callable[[], bool]) -> Result | None:
        """Start the container and wait for its end; None if this provisioner lost the container before it began."""
        limit = Deadline(timeout_seconds)
        run = await limit.obtain(self._begin(spec, is_ours))
        if run is None:
            return None
        if isinstance(run, Outcome):
            return _result(run)
        result = await self._see_through(run, limit)
        if not spec.answer_bytes or result.exit_code is None:
            return result
        try:
            return replace(result, answer=await run.answer(), image_id=run.image_id)
        except port.RunError as error:
            return replace(result, state=State.FAILED, message=str(error))

    async def _begin(self, spec: port.RunSpec, is_ours: Callable[[], bool]) -> port.Run | None:
        try:
            return await self._runtime.start(spec, lambda: is_ours() and self._claims.has(self.key))
        except port.RunError as error:
            if error.reason is port.Reason.FORBIDDEN:
                return None
            raise

    async def _adopt(self, limit: Deadline) -> Result:
        try:
            run = await self._find()
            if run is None:
                return Result(state=State.CANCELLED, message=NEVER_RAN)
            if not await run.was_fed():
                # It is removed and not only killed: if it has not begun, its former owner may be about to start it.
                await run.remove()
                return Result(state=State.CANCELLED, message=NOT_FED)
        except port.RunError as error:
            return Result(state=State.FAILED, message=str(error))
        self._run = run
        return await self._see_through(run, limit)

    async def _find(self) -> port.Run | None:
        """Find the container; if there is none, no provisioner can start it afterwards."""
        self._claim()
        return await self._runtime.find(self.key)

    async def _see_through(self, run: port.Run, limit: Deadline) -> Result:
        self._run = run
        output = output_shipper.ship(self._sink, self._secrets.masked(run))
        self._shipping = self._beside.create_task(output, name=f"output {self.key.run}")
        outcome = await limit.enforce(run, run.wait())
        # The output is sent before the end is reported, so that readers see both.
        await asyncio.wait([self._shipping], timeout=LAST_OUTPUT_SECONDS if outcome.exit_code is None else None)
        return _result(outcome)

    def _claim(self) -> None:
        try:
            self._claims.take(self.key)
        except (OSError, state_dir.StateError) as error:
            message = f"the state directory cannot be used: {error}"
            raise port.RunError(port.Reason.UNAVAILABLE, message) from error

    async def _kill(self) -> Result:
        assert self._stopped is not None
        stopped = self._stopped
        try:
            if self._run is None:
                # A start that was interrupted, or a former owner, may have left a container.
                self._run = await self._find()
                if self._run is not None and not await self._run.was_fed():
                    await self._run.remove()
            if self._run is not None:
                await self._run.kill()
        except port.RunError as error:
            return replace(stopped, message=f"{stopped.message}; it cannot be killed: {error}")
        if self._shipping is not None:
            await asyncio.wait([self._shipping], timeout=LAST_OUTPUT_SECONDS)
        return stopped

    async def _end_output(self) -> None:
        if self._shipping is not None and not self._shipping.done():
            await asyncio.wait([self._shipping], timeout=OUTPUT_SECONDS)
            self._shipping.cancel()


def _result(outcome: Outcome) -> Result:
    # The exit code is reported in a field of its own, so a message that only repeats it is dropped.
    message = "" if outcome.message == f"exited with code {outcome.exit_code}" else outcome.message
    return Result(state=outcome.state, message=message, exit_code=outcome.exit_code)
