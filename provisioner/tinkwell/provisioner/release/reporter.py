"""Sends one operation's reports to the server: in order, and those that wait together in one call.

    post ──▶ waiting ──▶ the sender takes waiting groups ──▶ one call ──▶ the server stores all

The server stores all reports of a call or none, and checks them against the state after all earlier calls. So there is
one call at a time, and a posted group is never split. A call is repeated until the server answers. If the server
refuses, this provisioner has lost the operation or disagrees with the server about it: then it sends nothing more.
Groups wait in a list. The number of running steps bounds it: each step waits until its group is stored.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from tinkwell.client import retry
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.release.model import Operation
from tinkwell.core.release.report import LifecycleReport, Report, ResourceReport, StepReport
from tinkwell.provisioner.release.secret import Secrets

# The server takes at most 500 reports in one call.
MAX_REPORTS = 500
# The server takes messages of at most 4 MiB. A single group is always smaller.
MAX_BYTES = 1024 * 1024
# The size of a report without its texts.
OVERHEAD_BYTES = 256
# The size of a handler in a report without its texts.
_RUN_BYTES = 32


class ReportsApi(Protocol):
    """The calls of the server that a reporter needs."""

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        """Store reports about an operation; a repeated call changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Reports that are stored together, and the future that is done once they are stored."""

    reports: Sequence[Report]
    stored: "asyncio.Future[None]"


class Reporter:
    """Sends the reports of one operation, with secrets masked in the texts that the server shows.

    `hear` gets the operation after each call.
    """

    def __init__(
        self,
        api: ReportsApi,
        lease: Keeper,
        operation_id: str,
        *,
        secrets: Secrets,
        hear: Callable[[Operation], None],
    ) -> None:
        self._api = api
        self._lease = lease
        self._operation_id = operation_id
        self._secrets = secrets
        self._hear = hear
        self._waiting: list[_Group] = []
        self._has_come = asyncio.Event()
        self._told: Callable[[Sequence[Report]], Sequence[Report]] = lambda reports: reports

    def tell(self, told: Callable[[Sequence[Report]], Sequence[Report]]) -> None:
        """From now on, send the reports that `told` returns for each group instead of the group."""
        self._told = told

    def post(self, reports: Sequence[Report]) -> "asyncio.Future[None]":
        """Queue a group of reports behind earlier groups; the future is done once the server has stored it.

        The future is cancelled if the server refuses, or if `run` has ended.
        """
        stored = asyncio.get_running_loop().create_future()
        if told := self._told(reports):
            self._waiting.append(_Group([*map(self._secrets.mask_report, told)], stored))
            self._has_come.set()
        else:
            stored.set_result(None)
        return stored

    async def run(self) -> NoReturn:
        """Send posted groups until cancelled; raises the `errors.Error` with which the server refuses."""
        try:
            while True:
                await self._has_come.wait()
                await asyncio.sleep(0)  # groups that are posted in the same moment join the call
                batch = self._take()
                try:
                    self._hear(await self._send([report for group in batch for report in group.reports]))
                except BaseException:
                    _cancel(batch)
                    raise
                for group in batch:
                    if not group.stored.done():
                        group.stored.set_result(None)
        finally:
            _cancel(self._waiting)

    def _take(self) -> list[_Group]:
        taken: list[_Group] = []
        count = size = 0
        while self._waiting:
            reports = self._waiting[0].reports
            count += len(reports)
            size += sum(map(_size, reports))
            if taken and (count > MAX_REPORTS or size > MAX_BYTES):
                break
            taken.append(self._waiting.pop(0))
        if not self._waiting:
            self._has_come.clear()
        return taken

    def _send(self, reports: Sequence[Report]) -> Awaitable[Operation]:
        def call(token: int) -> Awaitable[Operation]:
            return retry.until_answered(
                lambda: self._api.report(self._operation_id, token, reports), what="report on an operation"
            )

        return self._lease.under(call)


def _size(report: Report) -> int:
    """Estimate the size of a report in bytes."""
    texts: tuple[str | None, ...] = ()
    match report:
        case ResourceReport():
            texts = (report.init, report.config, report.state)
        case StepReport():
            texts = (report.message, report.call.description, *(report.call.args or ()))
        case LifecycleReport():
            texts = (report.message, *(f"{run.chart} {run.file} {'.' * _RUN_BYTES}" for run in report.handlers))
    return OVERHEAD_BYTES + sum(len(text.encode()) for text in texts if text)


def _cancel(groups: Sequence[_Group]) -> None:
    for group in groups:
        group.stored.cancel()
