"""Reports about actions, one by one and many in one call: parsed, written together where that can be, else alone."""

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

# The answers of one call wait so long for the last of them once the first is there.
PATIENCE_SECONDS = 1.0


class Reports:
    """What agents say about actions."""

    def __init__(self, database: Database, recovery: workflow_recovery.WorkflowRecovery) -> None:
        self._recovery = recovery
        self._groups = report_group.ReportGroups(database)
        # Attempts at actions of which nobody can tell any more how they ended, since this process began.
        self.lost_attempts = 0

    async def apply(self, report: ActionReport, *, actor: str) -> Reported:
        """Move an action on; raises `errors.InvalidField`, and what `workflow_report.apply` does."""
        parsed = workflow_report.parse(report)
        [answer] = await self._groups.apply([parsed], actor=actor)
        return answer or await self._apply_alone(parsed, actor)

    async def apply_together(
        self, reports: Sequence[ActionReport | errors.InvalidField], *, actor: str
    ) -> list[Outcome]:
        """Move actions on; each report comes to what `apply` returns or raises for it alone, in this order.

        A report that could not even be read is the error that says why. What has to wait for somebody else does not
        hold up the answers of the others: it ends as `errors.Unavailable`.
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
        """Do by itself what has no outcome yet: reports of one workflow in their order, those of others meanwhile."""
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
