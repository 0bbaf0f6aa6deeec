"""The way of reports to the server: those that come while others are on their way go together, by one call.

    report ──▶ waiting ──▶ sender takes what waits ──▶ one call ──▶ each has its own answer, or its own error

So a report that comes by itself is sent at once, and many cost few calls. An end without success is a call of its own,
since it may take the server longer than it lets reports of one call wait for each other: what recovers the workflow
comes of it, too. What fails as a whole, for a reason that may lie in one report alone, is sent one by one. The number
of those that wait is that of the jobs.

Who is told to stop still reports the ends that are at hand, when the senders have stopped already: then, and where
there are none, each report is a call of its own.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, Protocol

from tinkwell.client import errors
from tinkwell.client.workflow.model import LogLine, Report, Reported
from tinkwell.core.event.kinds import State

# The server takes no more in one call.
MAX_REPORTS = 100
# A call whose reports the server keeps waiting holds up no more than what it carries. What comes by several calls while
# the server writes, it writes together.
SENDERS = 4
_TOGETHER = (State.RUNNING, State.SUCCEEDED)


class ReportsApi(Protocol):
    """What sending reports needs of the server; `append_logs` is handed on."""

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
        lease_token: int,
    ) -> Reported:
        """Move an action on; a repetition changes nothing."""

    async def report_together(self, reports: Sequence[Report]) -> Sequence[Reported | errors.Error]:
        """Make several reports by one call; each comes to what `report` returns or raises for it alone."""

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        """Store lines; those that are there already are left as they are."""


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A report that is to be sent, and what it comes to; None means that it is to be sent alone."""

    report: Report
    outcome: "asyncio.Future[Reported | errors.Error | None]"


class Reporter:
    """Stands between those who report and the server."""

    def __init__(self, api: ReportsApi) -> None:
        self._api = api
        # What is to go by one call stands together.
        self._waiting: list[tuple[_Waiting, ...]] = []
        self._has_come = asyncio.Event()
        # Held by the one sender that waits: what comes wakes no others.
        self._turn = asyncio.Lock()
        self._senders = 0

    async def run(self) -> NoReturn:
        """Send what comes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(SENDERS):
                group.create_task(self._send_again_and_again(), name=f"report sender {number}")
        raise AssertionError("its tasks never end by themselves")

    async def report(self, report: Report) -> Reported:
        """Move an action on; a repetition changes nothing. Raises what the server answers."""
        (outcome,) = await self._outcomes(report)
        if isinstance(outcome, errors.Error):
            raise outcome
        return outcome or await self._report(report)

    async def report_both(self, end: Report, start: Report) -> tuple[Reported, Reported | None]:
        """Report the end of an action and with it the start of the next one, so that the server hears of both at once.

        Raises what the server answers to the end. None for a start that it did not take, or has not heard of.
        """
        ended, started = await self._outcomes(end, start)
        if isinstance(ended, errors.Error):
            raise ended
        return ended or await self._report(end), None if isinstance(started, errors.Error) else started

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        """Store lines; those that are there already are left as they are."""
        return await self._api.append_logs(workflow_id, lines)

    async def _outcomes(self, *reports: Report) -> Sequence[Reported | errors.Error | None]:
        """Have reports sent by one call; None for what must go alone."""
        if not self._senders or reports[0].state not in _TOGETHER:
            return [None] * len(reports)
        loop = asyncio.get_running_loop()
        together = tuple(_Waiting(report, loop.create_future()) for report in reports)
        self._waiting.append(together)
        self._has_come.set()
        return [await waiting.outcome for waiting in together]

    async def _send_again_and_again(self) -> NoReturn:
        self._senders += 1
        try:
            while True:
                async with self._turn:
                    await self._has_come.wait()
                    await asyncio.sleep(0)  # what comes in the same moment goes along
                    batch = self._take()
                await self._send(batch)
        finally:
            self._senders -= 1
            if not self._senders:
                _settle([waiting for together in self._waiting for waiting in together], {})

    def _take(self) -> list[_Waiting]:
        taken: list[_Waiting] = []
        place = 0
        while place < len(self._waiting) and len(taken) + len(self._waiting[place]) <= MAX_REPORTS:
            taken += self._waiting[place]
            place += 1
        del self._waiting[:place]
        if not self._waiting:
            self._has_come.clear()
        return taken

    async def _send(self, batch: Sequence[_Waiting]) -> None:
        """Send reports, and tell those who wait what they come to."""
        outcomes: Sequence[Reported | errors.Error] = ()
        try:
            if len(batch) > 1:
                outcomes = await self._api.report_together([waiting.report for waiting in batch])
            elif batch:
                outcomes = [await self._report(batch[0].report)]
        except errors.Error as error:
            may_lie_in_one = isinstance(error, errors.Internal | errors.InvalidField | errors.Unimplemented)
            outcomes = () if may_lie_in_one and len(batch) > 1 else [error] * len(batch)
        finally:
            _settle(batch, dict(enumerate(outcomes)))

    async def _report(self, report: Report) -> Reported:
        return await self._api.report(
            report.workflow_id,
            action_id=report.action_id,
            worker_id=report.worker_id,
            state=State(report.state),
            attempt=report.attempt,
            seconds=report.seconds,
            message=report.message,
            exit_code=report.exit_code,
            lease_token=report.lease_token,
        )


def _settle(batch: Sequence[_Waiting], outcomes: Mapping[int, Reported | errors.Error]) -> None:
    """Tell those who still wait what their reports come to; without an outcome they are sent alone."""
    for place, waiting in enumerate(batch):
        if not waiting.outcome.done():
            waiting.outcome.set_result(outcomes.get(place))
