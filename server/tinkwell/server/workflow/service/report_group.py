"""Writes reports together that come while others are being written: one statement, and one flush, for all of them.

Theory of operation. Most of what a report costs is what its transaction costs, however little is written in it.

    reports ──▶ waiting ──▶ whoever comes first takes what waits ──▶ one transaction ──▶ each has its own answer
                                           │
                                           └──▶ none: what is refused, or does more than move an action on

So a report that comes by itself is written at once, and many are written in few transactions. Only reports of one
actor under one lease are written together, and of each workflow a start, a success, or a success and the start that
follows it. Nothing is locked while it is decided, and nothing waits for anybody: a workflow that somebody else moves at
this moment is left out. Whatever is left out, or fails, gets no answer here; it is done by itself, as if there were no
groups, and is answered with its own error. A report is answered once it is durable.
"""

import asyncio
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.workflow import advance
from tinkwell.server.database.database import Database, Fetch
from tinkwell.server.workflow.service import report as workflow_report
from tinkwell.server.workflow.service.report import ActionReport, Reported
from tinkwell.server.workflow.store import report_move

# Each locks a workflow until all are written.
MAX_GROUP = 64
# Beyond so many of one reporter, each is written by itself.
MAX_WAITING = 1_000


@dataclasses.dataclass(eq=False, slots=True)
class _Waiting:
    """A report that is to be written; without an answer once it was taken, it is not written here."""

    report: ActionReport
    was_taken: bool = False
    answer: Reported | None = None


class _Lane:
    """What waits of one reporter. Whoever holds the lock writes."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting: list[_Waiting] = []

    def take(self) -> list[_Waiting]:
        """Take the longest waiting reports, as many as may be written together."""
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
    """Gathers reports and writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lanes: dict[tuple[str, int], _Lane] = {}

    async def apply(self, reports: Sequence[ActionReport], *, actor: str) -> list[Reported | None]:
        """Write those of the reports that can be written together with others; None for each that was not.

        They have been parsed, and all come with the same lease.
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
        # What it was that failed shows when each is done by itself.
        with contextlib.suppress(errors.TinkwellError):
            answers = await _apply(self._database, reports, actor)
            for waiting in group:
                waiting.answer = answers.get(waiting.report.action_id)


async def _apply(database: Database, reports: Sequence[ActionReport], actor: str) -> dict[str, Reported]:
    """Write what can be written together; returns the answers by the actions."""
    return await database.use(lambda fetch: _read_and_write(fetch, reports, actor))


async def _read_and_write(fetch: Fetch, reports: Sequence[ActionReport], actor: str) -> dict[str, Reported]:
    ids = list({report.action_id: None for report in reports})
    found = await report_move.read(fetch, ids, lease_token=reports[0].lease_token)
    moves = _decide(found, reports)
    if not moves:
        return {}
    written = await report_move.write(fetch, moves, actor=actor)
    return {
        move.found.action.id: Reported(moved.revision, move.attempt, moved.remaining_seconds, move.state)
        for move in moves
        if (moved := written.get(move.found.action.id)) is not None
    }


def _decide(found: Mapping[str, report_move.Found], reports: Sequence[ActionReport]) -> list[report_move.Move]:
    """Decide on reports in their order, each on what the one before has made of its workflow."""
    standings: dict[str, advance.Standing] = {}
    moves = []
    for report in reports:
        known = found.get(report.action_id)
        if known is None or not _names(report, known):
            continue
        if (standing := standings.get(known.workflow_id)) is not None:
            known = dataclasses.replace(known, standing=standing)
        with contextlib.suppress(errors.TinkwellError):
            if (move := _move(known, report)) is not None:
                moves.append(move)
                standings[known.workflow_id] = known.standing.after(move.steps)
    return moves


def _move(found: report_move.Found, report: ActionReport) -> report_move.Move | None:
    """Return what a report does to its workflow; None where that is more than can be said here."""
    changes = advance.advance(found.standing, found.action, workflow_report.heard(report, found.action.id))
    if changes is None:
        return None
    reporter = lease.Reporter(report.lease_token, found.lease)
    vacated = workflow_report.check_lease(found.hold, found.action, reporter, changes)
    return report_move.Move(
        found=found,
        state=report.state,
        attempt=changes.attempt,
        message=report.message,
        exit_code=report.exit_code,
        seconds=report.seconds,
        lease_id=reporter.lease_id,
        steps=changes.steps,
        vacates=bool(vacated),
    )


def _is_usual(report: ActionReport) -> bool:
    """Whether a report may be one that is written with others. A start has no exit code."""
    if report.state is State.RUNNING:
        return bool(report.action_id) and report.exit_code is None
    return bool(report.action_id) and report.state is State.SUCCEEDED


def _may_follow(before: Sequence[_Waiting], report: ActionReport) -> bool:
    if not before:
        return True
    first = before[0].report
    is_pair = len(before) == 1 and (first.state, report.state) == (State.SUCCEEDED, State.RUNNING)
    return is_pair and first.action_id != report.action_id


def _names(report: ActionReport, known: report_move.Found) -> bool:
    """Whether a report names the action that it was found by."""
    action = known.action
    return (
        report.workflow_id == known.workflow_id
        and report.task_name in ("", action.task_name)
        and report.action_name in ("", action.name)
    )
