"""Reports about actions, alone or many in one call. They are parsed, and written together if possible, else alone."""

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.server.database.database import Database
from tinkwell.server.workflow.service import recovery as workflow_recovery
from tinkwell.server.workflow.service import report as workflow_report
from tinkwell.server.workflow.service import report_group
from tinkwell.server.workflow.service.report import ActionReport, Reported

Outcome: TypeAlias = Reported | errors.TinkwellError

# Once one report of a call has its answer, the call waits at most this long for the others.
PATIENCE_SECONDS = 1.0


class Reports:
    """Takes the reports of agents about actions."""

    def __init__(self, database: Database, recovery: workflow_recovery.WorkflowRecovery) -> None:
        self._recovery = recovery
        self._groups = report_group.ReportGroups(database)
        # The number of attempts, since this process began, whose outcome is unknown and stays unknown.
        self.lost_attempts = 0

    async def apply(self, report: ActionReport, *, actor: str) -> Reported:
        """Apply one report. Raises `errors.InvalidField`, and what `workflow_report.apply` raises."""
        parsed = workflow_report.parse(report)
        [answer] = await self._groups.apply([parsed], actor=actor)
        return answer or await self._apply_alone(parsed, actor)

    async def apply_together(
        self, reports: Sequence[ActionReport | errors.InvalidField], *, actor: str
    ) -> list[Outcome]:
        """Apply several reports.

        The outcome of each, in the same order, is what `apply` returns or raises for it alone. A report that could not
        be decoded is given as an error, which is its outcome. A report that has to wait for another call does not delay
        the answers of the others: its outcome is `errors.Unavailable`.
        """
        outcomes: dict[int, Outcome] = {}
        parsed: dict[int, ActionReport] = {}
        for place, report in enumerate(reports):
            try:
                if isinstance(report, errors.InvalidField):
                    raise report
                parsed[place] = workflow_report.parse(report)
            except errors.InvalidField as error:
                outcomes[place] = error
        for _, found in itertools.groupby(parsed.items(), lambda item: item[1].lease_token):
            places, same = zip(*found, strict=True)
            answers = await self._groups.apply(same, actor=actor)
            outcomes |= {place: answer for place, answer in zip(places, answers, strict=True) if answer is not None}
        await self._apply_rest(parsed, outcomes, actor)
        late = errors.Unavailable("somebody else is at work on this workflow; try again")
        return [outcomes.get(place, late) for place in range(len(reports))]

    async def _apply_rest(self, parsed: dict[int, ActionReport], outcomes: dict[int, Outcome], actor: str) -> None:
        """Apply each other report by itself: those of one workflow in order, different workflows concurrently."""
        rest: dict[str, list[int]] = {}
        for place, report in parsed.items():
            if place not in outcomes:
                rest.setdefault(report.workflow_id, []).append(place)
        if not rest:
            return
        has_answers = bool(outcomes)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._apply_each(parsed, places, outcomes, actor)) for places in rest.values()]
            if not has_answers:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            _, late = await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
            for task in late:
                task.cancel()

    async def _apply_each(
        self, parsed: dict[int, ActionReport], places: Iterable[int], outcomes: dict[int, Outcome], actor: str
    ) -> None:
        for place in places:
            try:
                outcomes[place] = await self._apply_alone(parsed[place], actor)
            except errors.TinkwellError as error:
                outcomes[place] = error

    async def _apply_alone(self, parsed: ActionReport, actor: str) -> Reported:
        try:
            return await workflow_report.apply(self._recovery, parsed, actor=actor)
        except workflow_report.AttemptLost:
            self.lost_attempts += 1
            raise
