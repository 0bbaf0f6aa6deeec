"""Writes reports that arrive while others are being written together: one transaction, and one flush, for all of them.

Theory of operation. The transaction is the largest part of a report's cost, however little it writes.

    reports ──▶ waiting ──▶ the first takes all that wait ──▶ one transaction ──▶ each has its own answer
                                           │
                                           └──▶ none for a report that is refused, or does more than move an action

So a report that arrives alone is written at once, and many reports are written in few transactions. Only reports of one
actor under one lease are written together, and of each workflow only a start, a success, or a success and the start
that follows it. The group is decided and written by the same rules as single reports, but never waits for a lock: it
leaves out a workflow that another transaction moves, and one that would start on a busy machine. A report that is left
out gets no answer here; it is then written alone, and gets its own error. If the write fails, for example because
another workflow takes the machine of a start, each report of the group is written alone. A report is answered when it
is durable.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import change
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.service import report as workflow_report
from tinkwell.server.workflow.service.report import ActionReport, Reported
from tinkwell.server.workflow.store import action_status, step

# Each report locks a workflow until all of the group are written.
MAX_GROUP = 64
# With more waiting reports of one reporter than this, each further one is written by itself.
MAX_WAITING = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Written:
    """A report that was decided on, and its action before the report."""

    due: step.Due
    decision: workflow_report.Decision

    @property
    def last_event(self) -> step.Version:
        """The last event that the report causes: the action's for a start, the workflow's for a success."""
        if isinstance(self.decision.changes.steps[-1], change.StartAction):
            return self.due.action.id, self.due.version + 1
        return self.due.workflow.id, self.due.workflow_version + 1


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A report that waits to be written. If it was taken and has no answer, it is not written by this group."""

    report: ActionReport
    was_taken: bool = False
    answer: Reported | None = None


class _Lane:
    """The waiting reports of one reporter. The holder of the lock writes them."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[_Waiting] = []

    def take(self) -> list[_Waiting]:
        """Take the reports that have waited longest, as many as may be written together."""
        taken: dict[str, list[_Waiting]] = {}
        count = 0
        for waiting in self.waiting:
            before = taken.setdefault(waiting.report.workflow_id, [])
            if count < MAX_GROUP and _may_follow(before, waiting.report):
                before.append(waiting)
                waiting.was_taken = True
                count += 1
        self.waiting = [waiting for waiting in self.waiting if not waiting.was_taken]
        return [waiting for reports in taken.values() for waiting in reports]


class ReportGroups:
    """Collects reports and writes them in groups."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lanes: dict[tuple[str, int], _Lane] = {}

    async def apply(self, reports: Sequence[ActionReport], *, actor: str) -> list[Reported | None]:
        """Write those of the reports that can be written together with others, and return None for each other one.

        The reports have been parsed, and all come under the same lease.
        """
        answers: list[Reported | None] = [None] * len(reports)
        places = [place for place, report in enumerate(reports) if _is_usual(report)]
        if not places:
            return answers
        key = (actor, reports[places[0]].lease_token)
        lane = self._lanes.setdefault(key, _Lane())
        if len(lane.waiting) + len(places) > MAX_WAITING:
            return answers
        own = [_Waiting(reports[place]) for place in places]
        lane.waiting += own
        try:
            async with lane.lock:
                while not all(waiting.was_taken for waiting in own):
                    await self._write(lane.take(), actor)
        finally:
            lane.waiting = [waiting for waiting in lane.waiting if waiting not in own]
            if not lane.waiting and not lane.lock.locked() and self._lanes.get(key) is lane:
                del self._lanes[key]
        for place, waiting in zip(places, own, strict=True):
            answers[place] = waiting.answer
        return answers

    async def _write(self, group: Sequence[_Waiting], actor: str) -> None:
        reports = [waiting.report for waiting in group]
        # The cause of a failure shows when each report is written by itself.
        with contextlib.suppress(errors.TinkwellError):
            answers = await _apply(self._database, reports, actor)
            for waiting in group:
                waiting.answer = answers.get(waiting.report.action_id)


async def _apply(database: Database, reports: Sequence[ActionReport], actor: str) -> dict[str, Reported]:
    """Write the reports that can be written together, and return the answers by action id."""
    written = await database.write(lambda transaction: _write(transaction, reports), actor=actor)
    if not written.value:
        return {}
    drawn = min(each.due.drawn for each in written.value)
    last = [each.last_event for each in written.value]
    revisions = await step.revisions(database.fetch, last, after=drawn, until=written.revision)
    return {
        each.due.action.id: dataclasses.replace(each.decision.reported, revision=revision)
        for each in written.value
        if (revision := revisions.get(each.last_event)) is not None
    }


async def _write(transaction: Transaction, reports: Sequence[ActionReport]) -> list[_Written]:
    ids = list({report.action_id: None for report in reports})
    found = await step.lock_free(transaction, ids, lease_token=reports[0].lease_token)
    decided = _decide(found, reports)
    transaction.changed = bool(decided)
    if decided:
        await step.write(transaction, *(each.decision.move for each in decided))
        await action_status.append(transaction, *(each.decision.entry for each in decided))
    return decided


def _decide(found: Mapping[str, step.Due], reports: Sequence[ActionReport]) -> list[_Written]:
    """Decide on reports in their order, each on the state that the one before it leaves."""
    completed: dict[str, int] = {}
    decided = []
    for report in reports:
        due = found.get(report.action_id)
        if due is None or report.workflow_id != due.workflow.id:
            continue
        with contextlib.suppress(errors.TinkwellError):
            locked = due.locked(completed=completed.get(due.workflow.id, due.completed))
            decision = workflow_report.decide(locked, report)
            if decision.changes.steps:
                decided.append(_Written(due, decision))
                completed[due.workflow.id] = due.completed + (report.state is State.SUCCEEDED)
    return decided


def _is_usual(report: ActionReport) -> bool:
    """Whether a report is of a kind that may be written with others. A start must have no exit code."""
    if report.state is State.RUNNING:
        return bool(report.action_id) and report.exit_code is None
    return bool(report.action_id) and report.state is State.SUCCEEDED


def _may_follow(before: Sequence[_Waiting], report: ActionReport) -> bool:
    if not before:
        return True
    first = before[0].report
    is_pair = len(before) == 1 and (first.state, report.state) == (State.SUCCEEDED, State.RUNNING)
    return is_pair and first.action_id != report.action_id
