"""Writes reports together that come while others are being written: one transaction, and one flush, for all of them.

Theory of operation. Most of what a report costs is what its transaction costs, however little is written in it.

    report ──▶ waiting ──▶ whoever comes first takes what waits ──▶ one transaction ──▶ each has its own answer
                                          │
                                          └──▶ alone: what is refused, or does more than move an action on

So a report that comes by itself is written at once, and many are written in few transactions. Only reports of one
actor under one lease are written together, and only one of each workflow. Nothing waits inside of the transaction: a
workflow that somebody else moves at this moment is left out. Whatever is left out, or fails, is done again by itself,
as if there were no groups, and is answered with its own error. A report is answered once it is durable.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors, transition
from tinkwell.core.kind import State
from tinkwell.server.service import workflow_report
from tinkwell.server.service.workflow_report import ActionReport, Reported
from tinkwell.server.store import action_status, workflow_step
from tinkwell.server.store.database import Database

# Each locks a workflow until all are written.
MAX_GROUP = 32
# Beyond so many of one reporter, each is written by itself.
MAX_WAITING = 1_000


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A report that is to be written; without an answer once it was taken, it is done alone."""

    report: ActionReport
    was_taken: bool = False
    answer: Reported | None = None


class _Lane:
    """What waits of one reporter. Whoever holds the lock writes."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[_Waiting] = []

    def take(self) -> list[_Waiting]:
        """Take the longest waiting report of each workflow, as many as may be written together."""
        taken: dict[str, _Waiting] = {}
        for waiting in self.waiting:
            if len(taken) < MAX_GROUP:
                taken.setdefault(waiting.report.workflow_id, waiting)
        for waiting in taken.values():
            waiting.was_taken = True
        self.waiting = [waiting for waiting in self.waiting if not waiting.was_taken]
        return list(taken.values())


class ReportGroups:
    """Gathers reports and writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lanes: dict[tuple[str, int], _Lane] = {}

    async def apply(self, report: ActionReport, alone: Callable[[], Awaitable[Reported]], *, actor: str) -> Reported:
        """Write a report that was parsed, together with others where that can be, and otherwise by `alone`."""
        if report.state not in (State.RUNNING, State.SUCCEEDED):
            return await alone()
        key = (actor, report.lease_token)
        lane = self._lanes.setdefault(key, _Lane())
        if len(lane.waiting) >= MAX_WAITING:
            return await alone()
        waiting = _Waiting(report)
        lane.waiting.append(waiting)
        try:
            async with lane.lock:
                if not waiting.was_taken:
                    await self._write(lane.take(), actor)
        finally:
            if not waiting.was_taken:
                lane.waiting.remove(waiting)
            if not lane.waiting and not lane.lock.locked() and self._lanes.get(key) is lane:
                del self._lanes[key]
        return waiting.answer or await alone()

    async def _write(self, group: Sequence[_Waiting], actor: str) -> None:
        reports = [waiting.report for waiting in group]
        # What it was that failed shows when each is done alone.
        with contextlib.suppress(errors.TinkwellError):
            written = await self._database.write_together(lambda connection: _apply(connection, reports), actor=actor)
            for done in written.values():
                place, reported = done.value
                group[place].answer = dataclasses.replace(reported, revision=done.revision)


async def _apply(connection: AsyncConnection, reports: Sequence[ActionReport]) -> dict[str, tuple[int, Reported]]:
    """Write what can be written together; returns the answers, and to which report, by what was changed last."""
    ids = [report.workflow_id for report in reports]
    locked = await workflow_step.lock_free(connection, ids, lease_token=reports[0].lease_token)
    decided: dict[int, workflow_report.Decision] = {}
    for place, report in enumerate(reports):
        if (found := locked.get(report.workflow_id)) is not None:
            with contextlib.suppress(errors.TinkwellError):
                decision = workflow_report.decide(found, report)
                if _is_plain(decision, is_only=len(reports) == 1):
                    decided[place] = decision
    if not decided:
        return {}
    remaining = await workflow_step.write_together(
        connection, [_move(reports[place], decision) for place, decision in decided.items()]
    )
    await action_status.append(
        connection, *(workflow_report.entry(reports[p], d.action, d.changes.attempt) for p, d in decided.items())
    )
    answers = {}
    for place, decision in decided.items():
        action, changes = decision.action, decision.changes
        state = transition.state_after(action, changes)
        changed = action.id if state is State.RUNNING else reports[place].workflow_id
        answers[changed] = place, Reported(0, changes.attempt, remaining.get(action.id), state)
    return answers


def _is_plain(decision: workflow_report.Decision, *, is_only: bool) -> bool:
    """Whether a report does nothing but move an action and its workflow on. A start of a workflow may be refused."""
    for step in decision.changes.steps:
        match step:
            case transition.StartAction() | transition.AdvanceWorkflow():
                continue
            case transition.EndAction(state=State.SUCCEEDED) | transition.EndWorkflow(state=State.SUCCEEDED):
                continue
            case transition.StartWorkflow() if is_only:
                continue
            case _:
                return False
    return bool(decision.changes.steps)


def _move(report: ActionReport, decision: workflow_report.Decision) -> workflow_step.Move:
    return workflow_step.Move(
        report.workflow_id, decision.changes.steps, lease_id=decision.reporter.lease_id, vacated=decision.vacated
    )
