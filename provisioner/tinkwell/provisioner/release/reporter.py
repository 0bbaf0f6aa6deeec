"""The way of one operation's reports to the server: in order, and together where they come at once.

    post ──▶ waiting ──▶ the sender takes what waits ──▶ one call ──▶ all of it is stored

The server takes a call whole or not at all, and judges it by the state that all former ones have led to. So there is
one call at a time, and a group that was posted is never divided. A call is repeated until the server answers. Where it
refuses, the operation is not this provisioner's any more, or the two do not agree about it: nothing more is sent then.
Groups wait in a list, which is bounded by what posts them: each step waits for its own before it goes on.
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

# The server takes no more in one call,
MAX_REPORTS = 500
# and no larger message than 4 MiB. One group is never as large.
MAX_BYTES = 1024 * 1024
# What a report takes beside its texts.
OVERHEAD_BYTES = 256
# And what a handler takes, beside its own.
_RUN_BYTES = 32


class ReportsApi(Protocol):
    """What sending reports needs of the server."""

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        """Say what becomes of an operation; a repetition changes nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Reports that belong together, and who waits until they are stored."""

    reports: Sequence[Report]
    stored: "asyncio.Future[None]"


class Reporter:
    """Stands between those who work on one operation and the server, which is told no secret in what it shows.

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
        """Tell from now on what this says of each group, where the server must not hear all of it."""
        self._told = told

    def post(self, reports: Sequence[Report]) -> "asyncio.Future[None]":
        """Have a group of reports stored, after all that were posted before; the future is done when it is.

        Where the server refuses, or nobody sends any more, it is cancelled.
        """
        stored = asyncio.get_running_loop().create_future()
        if told := self._told(reports):
            self._waiting.append(_Group([*map(self._secrets.mask_report, told)], stored))
            self._has_come.set()
        else:
            stored.set_result(None)
        return stored

    async def run(self) -> NoReturn:
        """Send what is posted, until cancelled; raises the `errors.Error` with which the server refuses."""
        try:
            while True:
                await self._has_come.wait()
                await asyncio.sleep(0)  # what comes in the same moment goes along
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
    """Return about how many bytes a report takes."""
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
