"""Creates, reads, moves, cancels and deletes workflows."""

import contextlib
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import TypeVar

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.value import parse
from tinkwell.core.workflow import transition
from tinkwell.core.workflow.record import Action, JournalEntry, Progress, Unfinished, Workflow
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.workflow.service import expiry, recovery
from tinkwell.server.workflow.service.creation import Created, WorkflowCreation
from tinkwell.server.workflow.service.expiry import Expired
from tinkwell.server.workflow.service.pruning import Pruned, Pruning
from tinkwell.server.workflow.service.report import ActionReport, Reported
from tinkwell.server.workflow.service.report_intake import Outcome, Reports
from tinkwell.server.workflow.store import action_status, queries, step
from tinkwell.server.workflow.store import progress as workflow_progress

T = TypeVar("T")

MAX_REASON_BYTES = 1_000
# A hundred years.
MAX_AGE_SECONDS = 36_500 * 86_400
# The largest number of contexts that fits into one response.
MAX_CONTEXTS = 10_000
_PAGE = 500
_IDS_PAGE = 5_000


class WorkflowService:
    """The operations on workflows. Methods that take an id raise `errors.InvalidField` and `errors.NotFound` for it."""

    def __init__(
        self,
        database: Database,
        rendering: Rendering,
        *,
        retention_seconds: float = 0.0,
        page: int = _PAGE,
        ids_page: int = _IDS_PAGE,
    ) -> None:
        """`page` and `ids_page` bound how many rows, and how many ids of workflows, are read at once."""
        self._database = database
        self._page = page
        self._ids_page = ids_page
        self._retention_seconds = retention_seconds
        self._pruning = Pruning(database)
        self._creation = WorkflowCreation(database, rendering)
        self._recovery = recovery.WorkflowRecovery(database, rendering)
        self._reports = Reports(database, self._recovery)
        self._expired_attempts = 0

    async def create(
        self, *, workflow_id: str, template_name: str, devices_text: str, with_units: bool = False, actor: str
    ) -> Created:
        """Create a workflow; see `WorkflowCreation.create`."""
        return await self._creation.create(
            workflow_id=workflow_id,
            template_name=template_name,
            devices_text=devices_text,
            with_units=with_units,
            actor=actor,
        )

    async def get(self, workflow_id: str) -> Workflow:
        """Return a workflow with its rendered template."""
        workflow_id = parse.parse_uuid("id", workflow_id)
        found = await self._database.read(lambda connection: queries.get(connection, workflow_id))
        return _found(found, workflow_id)

    async def list_in(self, states: Collection[State]) -> AsyncGenerator[Workflow, None]:
        """Yield the workflows in any of the states, or all if `states` is empty, oldest first and without data."""
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.list_live(connection, states)) as found,
        ):
            async for listed in found:
                yield listed

    async def list_unfinished(self) -> AsyncGenerator[Unfinished, None]:
        """Yield the ids of the unfinished workflows, in pages."""
        place: workflow_progress.Place | None = workflow_progress.BEGINNING
        while place is not None:
            page, place = await workflow_progress.unfinished(self._database.fetch, after=place, limit=self._ids_page)
            yield page

    async def list_actions(self, workflow_id: str) -> list[Action]:
        """Return the actions of a workflow in order."""
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        found = await queries.list_actions(self._database.fetch, workflow_id)
        return _found(found, workflow_id)

    async def cancel(self, workflow_id: str, reason: str, *, actor: str) -> int:
        """Cancel an unfinished workflow and return the revision, which is 0 if the workflow was cancelled before.

        Raises `errors.IllegalTransition` for a workflow that has ended in another state.
        """
        workflow_id = parse.parse_uuid("id", workflow_id)
        reason = parse.parse_text("reason", reason, max_bytes=MAX_REASON_BYTES, allow_empty=True, multiline=True)

        async def work(transaction: Transaction) -> None:
            locked = _found(await step.lock(transaction, workflow_id), workflow_id)
            changes = transition.cancel(locked.workflow, locked.actions, reason)
            transaction.changed = bool(changes.steps)
            await step.write(transaction, step.Move(workflow_id=workflow_id, steps=changes.steps))

        return (await self._database.write(work, actor=actor)).revision

    async def delete(self, workflow_id: str, *, actor: str) -> int:
        """Cancel a workflow if it is not finished, delete it, and return the revision."""
        workflow_id = parse.parse_uuid("id", workflow_id)

        async def work(transaction: Transaction) -> None:
            locked = _found(await step.lock(transaction, workflow_id), workflow_id)
            if not locked.workflow.state.is_final:
                changes = transition.cancel(locked.workflow, locked.actions, "the workflow was deleted")
                await step.write(transaction, step.Move(workflow_id=workflow_id, steps=changes.steps))
            await queries.mark_deleted(transaction.connection, workflow_id)

        return (await self._database.write(work, actor=actor)).revision

    @property
    def lost_attempts(self) -> int:
        """The number of attempts, since this process began, whose outcome is unknown and stays unknown."""
        return self._reports.lost_attempts + self._expired_attempts

    async def report(self, report: ActionReport, *, actor: str) -> Reported:
        """Apply a worker's report about an action; see `Reports.apply`."""
        return await self._reports.apply(report, actor=actor)

    async def report_together(
        self, reports: Sequence[ActionReport | errors.InvalidField], *, actor: str
    ) -> list[Outcome]:
        """Apply several reports; see `Reports.apply_together`."""
        return await self._reports.apply_together(reports, actor=actor)

    async def expire(self, workflow_id: str, *, deadlines_only: bool = False, actor: str) -> Expired:
        """End what is past its deadline or lost in a workflow; see `workflow_expiry.expire`."""
        parsed = parse.parse_uuid("id", workflow_id)
        expired = await expiry.expire(self._recovery, parsed, deadlines_only=deadlines_only, actor=actor)
        self._expired_attempts += expired.has_lost
        return expired

    async def prune(self, age_seconds: float | None, *, is_wanted: bool, actor: str) -> AsyncGenerator[Pruned, None]:
        """Find the workflows that ended at least `age_seconds` ago, and delete them if `is_wanted`. Yield the counts.

        With an age of None the server's setting applies. Raises `errors.InvalidField`, and the errors of `Pruning.run`.
        """
        age_seconds = _age(age_seconds, self._retention_seconds)
        pieces = (
            self._pruning.run(age_seconds=age_seconds, actor=actor)
            if is_wanted
            else self._pruning.look(age_seconds=age_seconds)
        )
        async with contextlib.aclosing(pieces):
            async for pruned in pieces:
                yield pruned

    async def list_reports(self, workflow_id: str) -> AsyncGenerator[JournalEntry, None]:
        """Yield the reports about a workflow's actions in order. The workflow may be deleted."""
        workflow_id = parse.parse_uuid("id", workflow_id)
        entries, place = await self._journal(workflow_id, 0)
        if not entries and not await self._database.read(
            lambda connection: queries.was_created(connection, workflow_id)
        ):
            raise errors.NotFound("WORKFLOW", workflow_id)
        while entries:
            for entry in entries:
                yield entry
            entries, place = await self._journal(workflow_id, place)

    async def progress(self, workflow_id: str, *, with_actions: bool = False) -> Progress:
        """Return the progress of a workflow, with its actions at the same moment if `with_actions`."""
        workflow_id = parse.parse_uuid("id", workflow_id)
        found = await workflow_progress.of_workflow(self._database.fetch, workflow_id, with_actions=with_actions)
        return _found(found, workflow_id)

    async def progress_of_worker(self, worker_id: str) -> list[Progress]:
        """Return the progress of each workflow of a worker, oldest first.

        Raises `errors.LimitReached` if there are more than `MAX_CONTEXTS`.
        """
        worker_id = parse.parse_uuid("worker_id", worker_id)
        found = await workflow_progress.of_worker(self._database.fetch, worker_id, limit=MAX_CONTEXTS + 1)
        if len(found) > MAX_CONTEXTS:
            raise errors.LimitReached(f"the worker has more than {MAX_CONTEXTS:,} workflows; delete finished ones")
        return found

    async def list_due(self, worker_id: str) -> AsyncGenerator[Progress, None]:
        """Yield the unfinished workflows whose next action belongs to this worker, oldest first."""
        worker_id = parse.parse_uuid("worker_id", worker_id)
        page, place = await self._due(worker_id, workflow_progress.BEGINNING)
        while page:
            for progress in page:
                yield progress
            page, place = await self._due(worker_id, place)

    async def _journal(self, workflow_id: str, after: int) -> tuple[list[JournalEntry], int]:
        return await self._database.read(
            lambda connection: action_status.page(connection, workflow_id, after=after, limit=self._page)
        )

    async def _due(
        self, worker_id: str, after: workflow_progress.Place
    ) -> tuple[list[Progress], workflow_progress.Place]:
        return await workflow_progress.due(self._database.fetch, worker_id, after=after, limit=self._page)


def _age(wanted: float | None, retention_seconds: float) -> float:
    if wanted is None and retention_seconds > 0:
        return retention_seconds
    if wanted is None:
        what = "is not set, and this server keeps workflows for ever; say how long ago they must have ended"
        raise errors.InvalidField.of("older_than_seconds", what)
    if not 0 <= wanted <= MAX_AGE_SECONDS:
        raise errors.InvalidField.of("older_than_seconds", f"is {wanted:g}; give 0 to {MAX_AGE_SECONDS:,} seconds")
    return wanted


def _found(found: T | None, workflow_id: str) -> T:
    if found is None:
        raise errors.NotFound("WORKFLOW", workflow_id)
    return found
