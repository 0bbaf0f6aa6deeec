"""One operation, from the moment this provisioner takes it until it ends or another provisioner has it.

However the work on it ends here, no run stays without a provisioner that watches it:

    the operation has ended           the walk has removed all runs
    the server refuses a report       another provisioner has the operation: all runs here are removed, except those
                                      that the other one watches
    this process is told to stop      calls without effects are removed; actions go on, and a successor adopts them
    a defect, or a server without     all runs are removed, and the operation is reported as FAILED, if the server
    the keys of its secrets           takes the report
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from tinkwell.client import errors, retry
from tinkwell.client.release.model import Node, Operation, Work
from tinkwell.core.event.kinds import State
from tinkwell.core.release import cause
from tinkwell.core.release.kinds import OperationKind
from tinkwell.core.release.report import FinishReport, Report, StepReport
from tinkwell.core.value.run_key import RunKey
from tinkwell.provisioner.release import leftover, release_folder
from tinkwell.provisioner.release.call.step import StepRun
from tinkwell.provisioner.release.host import Host
from tinkwell.provisioner.release.reporter import Reporter
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.release.undertaking import Undertaking

logger = logging.getLogger(__name__)
T = TypeVar("T")

# How long the removal of an operation's runs may take.
REMOVE_SECONDS = 20.0
# How long a process that is told to stop may take to remove the runs that no successor adopts.
LAST_SECONDS = 3.0
# How often the failure of an operation that is given up is reported.
FAIL_TRIES = 3
# The operation has ended, or another provisioner has it.
REFUSALS = (errors.NotFound, errors.IllegalTransition)


class OperationRun:
    """Carries one operation out."""

    def __init__(self, operation_id: str, host: Host) -> None:
        self.id = operation_id
        self._host = host
        self._undertaking: Undertaking | None = None
        # The operation in the server's last answer.
        self._operation = Operation(operation_id)
        self._is_ending = False
        # A living provisioner other than this one has the operation.
        self.is_elsewhere = False
        self._is_lost = asyncio.Event()

    @property
    def is_held(self) -> bool:
        """Whether this provisioner has taken the operation and got its work."""
        return self._undertaking is not None

    @property
    def keys(self) -> frozenset[RunKey]:
        """The runs whose containers may still exist here."""
        return frozenset(run.key for run in self._runs())

    def hear(self, operation: Operation) -> None:
        """Take over the operation as the server has sent it."""
        self._operation = operation
        if self._undertaking is not None:
            self._undertaking.hear(operation)

    def lose(self) -> None:
        """Note that another provisioner has the operation, or that it ended without a report of this one."""
        if self.is_held and not self._is_ending:
            self._is_lost.set()

    async def run(self) -> Operation | None:
        """Take the operation, bring it to its end, and return it.

        Returns None if the server does not give the operation, or another provisioner has it. Raises an `errors.Error`
        that only an operator can mend.
        """
        api = self._host.api
        try:
            acquired = await self._under(lambda token: api.acquire(self.id, token), what="acquire an operation")
            asked_at = asyncio.get_running_loop().time()
            work = await self._under(lambda token: api.work(self.id, token), what="get an operation's work")
        except REFUSALS as error:
            self.is_elsewhere = isinstance(error, errors.LeaseHeld)
            logger.info("an operation is not to be had", extra={"operation": self.id, "cause": str(error)})
            return None
        except errors.SecretsDisabled as error:
            return await self._end_unopened(error)
        fields = _fields(work.operation)
        logger.info("an operation is carried out", extra=fields | {"is_first": acquired.is_first})
        try:
            if not await self._carry_out(work, ends_at=asked_at + (acquired.operation.remaining_seconds or 0.0)):
                return None
        except asyncio.CancelledError:
            leaving = (run for run in self._runs() if not run.outlives)
            await _to_its_end(self._remove(leaving), seconds=LAST_SECONDS)
            raise
        finally:
            if self._undertaking is not None:
                self._undertaking.leave()
        logger.info("an operation has ended", extra=fields | {"state": self._operation.state.value})
        return self._operation

    async def _carry_out(self, work: Work, *, ends_at: float) -> bool:
        """Carry the operation out, and return True if it ended and False if it was given up."""
        secrets = await asyncio.to_thread(Secrets, work.secrets)
        try:
            await self._work_through(work, secrets, ends_at=ends_at)
        except BaseExceptionGroup as failures:
            # Errors may contain secrets, which the log masks only while `secrets` is open.
            await self._give_up(failures, work)
            return False
        finally:
            secrets.close()
        return True

    async def _work_through(self, work: Work, secrets: Secrets, *, ends_at: float) -> None:
        """Bring the operation to its end; raises a group of the errors."""
        async with asyncio.TaskGroup() as group:
            reporter = Reporter(self._host.api, self._host.lease, self.id, secrets=secrets, hear=self.hear)
            beside = [
                group.create_task(reporter.run(), name="reports"),
                group.create_task(self._until_lost(), name="loss"),
            ]
            undertaking = Undertaking(
                work, self._host, ends_at=ends_at, reporter=reporter, secrets=secrets, group=group
            )
            self._undertaking = undertaking
            try:
                finish = await undertaking.run()
            finally:
                await _to_its_end(undertaking.close(), seconds=REMOVE_SECONDS)
            if work.operation.kind is OperationKind.UNINSTALL:
                await asyncio.to_thread(release_folder.forget, self._host.folder / work.release.id)
            self._is_ending = True
            await reporter.post([FinishReport(state=finish.state, cause=finish.cause, result=undertaking.result)])
            for task in beside:
                task.cancel()

    async def _until_lost(self) -> None:
        await self._is_lost.wait()
        raise errors.LeaseLost("the operation has ended, or is another's")

    async def _give_up(self, failures: BaseExceptionGroup[BaseException], work: Work) -> None:
        """Remove the operation's runs here; raises an error that only an operator can mend."""
        fields = _fields(work.operation)
        hopeless = failures.subgroup(retry.HOPELESS)
        if hopeless is not None:
            raise _first(hopeless) from failures
        _, others = failures.split(REFUSALS)
        if others is None:
            logger.warning("an operation is another's by now", extra=fields | {"cause": str(_first(failures))})
            await self._remove(self._runs(), is_taken=True)
            return
        error = _first(others)
        if isinstance(error, errors.SecretsDisabled):
            logger.warning("an operation is given up", extra=fields | {"cause": str(error)})
            reason, message = cause.Reason.SECRETS_DISABLED, str(error)
        else:
            logger.error("an operation is given up, because of a defect", exc_info=failures, extra=fields)
            reason = cause.Reason.INTERNAL
            message = f"the provisioner has a defect: {type(error).__name__}; its log tells more"
        await self._remove(self._runs())
        await self._fail(work.operation.release_id, reason, message)

    async def _end_unopened(self, error: errors.SecretsDisabled) -> Operation:
        """End an operation whose secrets the server cannot open, and remove the runs that a former owner left here."""
        operation = await retry.until_answered(lambda: self._host.api.operation(self.id), what="get an operation")
        logger.warning("an operation cannot be carried out", extra=_fields(operation) | {"cause": str(error)})
        await self._fail(operation.release_id, cause.Reason.SECRETS_DISABLED, str(error))
        return self._operation

    async def _fail(self, release_id: str, reason: cause.Reason, message: str) -> None:
        """End the operation as FAILED, once no run of its release is left here.

        The server is asked for the running steps, since the view includes reports that the server refused or has not
        got yet. The server may store one of those after it was asked, so this report is repeated if it is refused.
        """
        await leftover.clear(self._host.runtime, self._host.claims, release_id, needed=())
        finish = FinishReport(state=State.FAILED, cause=cause.text(reason, message))
        for attempt in range(1, FAIL_TRIES + 1):
            try:
                await self._report([*await self._running_steps(message), finish])
            except errors.Error as refusal:
                if attempt < FAIL_TRIES and isinstance(refusal, errors.IllegalTransition | errors.InvalidField):
                    continue
                logger.warning("a failure cannot be reported", extra={"operation": self.id, "cause": str(refusal)})
            return

    async def _report(self, reports: Sequence[Report]) -> None:
        report = self._host.api.report
        self._operation = await self._under(lambda token: report(self.id, token, reports), what="report a failure")

    async def _running_steps(self, reason: str) -> Sequence[Report]:
        """Return reports that end as CANCELLED each step that is RUNNING on the server."""
        return [
            StepReport(
                path=step.path,
                ordinal=step.ordinal,
                kind=step.kind,
                state=State.CANCELLED,
                attempt=step.attempt,
                message=reason,
            )
            for node in await self._nodes()
            for step in node.steps
            if step.state is State.RUNNING
        ]

    async def _nodes(self) -> Sequence[Node]:
        async def get() -> Sequence[Node]:
            return [node async for node in self._host.api.nodes(self.id)]

        return await retry.until_answered(get, what="get an operation's nodes")

    def _runs(self) -> Iterable[StepRun]:
        return list(self._undertaking.runs) if self._undertaking is not None else ()

    async def _remove(self, runs: Iterable[StepRun], *, is_taken: bool = False) -> None:
        """Kill and remove runs; the next owner of the release finds the runs that are not removed in time."""
        try:
            async with asyncio.timeout(REMOVE_SECONDS):
                await asyncio.gather(*(run.clear(is_taken=is_taken) for run in runs))
        except TimeoutError:
            logger.warning("what runs cannot be removed in time", extra={"operation": self.id})

    async def _under(self, call: Callable[[int], Awaitable[T]], *, what: str) -> T:
        """Repeat a call under the lease until the server answers."""
        return await self._host.lease.under(lambda token: retry.until_answered(lambda: call(token), what=what))


def _fields(operation: Operation) -> dict[str, object]:
    return {
        "operation": operation.id,
        "kind": operation.kind.value,
        "namespace": operation.namespace,
        "release": operation.release_name,
    }


def _first(failures: BaseException) -> BaseException:
    while isinstance(failures, BaseExceptionGroup):
        failures = failures.exceptions[0]
    return failures


async def _to_its_end(work: Coroutine[Any, Any, None], *, seconds: float) -> None:
    """Do, within `seconds`, work that should not stop halfway; a cancellation leaves it LAST_SECONDS."""
    task = asyncio.ensure_future(work)
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(task)
    except TimeoutError:
        task.cancel()
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=LAST_SECONDS)
        task.cancel()
        raise
