"""Sends reports to the server. Reports that come while another call is on its way are sent together by the next one.

    report ──▶ waiting ──▶ a sender takes all that wait ──▶ one call ──▶ each report has its own answer or error

So a single report is sent at once, and many reports cost few calls. The end of an action that has not succeeded is sent
alone: it takes the server longer, because the server also decides how the workflow recovers. If a whole call fails, and
one of its reports may be the cause, its reports are sent one by one. No more reports can wait than there are jobs.

During shutdown the senders stop first, and jobs still report. From then on each report is a call of its own.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, Protocol

from tinkwell.client import errors
from tinkwell.client.workflow.model import LogLine, Report, Reported
from tinkwell.core.event.kinds import State

# The server's limit for one call.
MAX_REPORTS = 100
# With several senders, a slow call holds up only its own reports.
SENDERS = 4
_TOGETHER = (State.RUNNING, State.SUCCEEDED)


class ReportsApi(Protocol):
    """The calls to the server that this module needs."""

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
        """Report a state of an action; a repeated report changes nothing."""

    async def report_together(self, reports: Sequence[Report]) -> Sequence[Reported | errors.Error]:
        """Make several reports by one call; the results are in order, what `report` would return or raise for each."""

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        """Store lines of output; lines that are stored already stay as they are."""


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A report that is to be sent, and its answer; the answer None means that it must be sent alone."""

    report: Report
    outcome: "asyncio.Future[Reported | errors.Error | None]"


class Reporter:
    """Sends reports, several by one call where it can."""

    def __init__(self, api: ReportsApi) -> None:
        self._api = api
        # Reports of one tuple must be sent by the same call.
        self._waiting: list[tuple[_Waiting, ...]] = []
        self._has_come = asyncio.Event()
        # Held by the one sender that waits for reports, so that a report wakes only one sender.
        self._turn = asyncio.Lock()
        self._senders = 0

    async def run(self) -> NoReturn:
        """Send reports until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(SENDERS):
                group.create_task(self._send_again_and_again(), name=f"report sender {number}")
        raise AssertionError("its tasks never end by themselves")

    async def report(self, report: Report) -> Reported:
        """Report a state of an action; a repeated report changes nothing. Raises the error that the server answers."""
        (outcome,) = await self._outcomes(report)
        if isinstance(outcome, errors.Error):
            raise outcome
        return outcome or await self._report(report)

    async def report_both(self, end: Report, start: Report) -> tuple[Reported, Reported | None]:
        """Report the end of an action and the start of the next one by the same call.

        Raises the error that the server answers to the end. The answer to the start is None if the server refused it
        or was not told of it.
        """
        ended, started = await self._outcomes(end, start)
        if isinstance(ended, errors.Error):
            raise ended
        return ended or await self._report(end), None if isinstance(started, errors.Error) else started

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        """Store lines of output; lines that are stored already stay as they are."""
        return await self._api.append_logs(workflow_id, lines)

    async def _outcomes(self, *reports: Report) -> Sequence[Reported | errors.Error | None]:
        """Have reports sent by one call; the result is None for a report that the caller must send alone."""
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
                    await asyncio.sleep(0)  # Let other tasks that are ready add their reports to this call.
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
        """Send reports by one call, and hand each its answer."""
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
    """Hand each report that still waits its answer, None (it is then sent alone) if `outcomes` has none for it."""
    for place, waiting in enumerate(batch):
        if not waiting.outcome.done():
            waiting.outcome.set_result(outcomes.get(place))
