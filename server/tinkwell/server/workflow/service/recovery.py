"""Creates the workflow that recovers a failed one, in the transaction that ends the failed one.

Theory of operation. The rules say which template recovers a workflow (`change.EndWorkflow`). Rendering it takes long,
so it happens before the transaction, as for any workflow. But only the transaction finds out that a recovery is needed:

    work ──▶ an end, with a recovery that is not prepared ──▶ all is undone ──▶ it is prepared ──▶ work, once more

The end and its recovery are written together, or not at all. If the recovery cannot be created, the end is written
without it, and its cause says why. No error may keep a workflow from ending. A recovering workflow is recovered itself
if its template says so. A template may occur only once in such a chain, so every chain ends.
"""

import asyncio
import dataclasses
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from tinkwell.core import errors
from tinkwell.core.workflow import change
from tinkwell.server.database.database import Database, Transaction, Written
from tinkwell.server.template.service.rendering import Rendering
from tinkwell.server.workflow.service import creation
from tinkwell.server.workflow.store import source as workflow_source
from tinkwell.server.workflow.store import step

T = TypeVar("T")

MAX_ERROR_CHARACTERS = 1_000
# Well below the deadline of a call: if a call runs out of time, the end of its workflow is not written.
PREPARE_SECONDS = 10.0
_TRIES = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The prepared recovery of a workflow: a draft, or the reason why there is none."""

    ended_id: str
    template_name: str
    draft: creation.Draft | None = None
    error: str = ""


Work: TypeAlias = Callable[[Transaction, Prepared | None], Awaitable[T]]


class _Unprepared(Exception):
    """A workflow is about to end, and its recovery is not prepared, or was prepared from an older template."""

    def __init__(self, ended_id: str, template_name: str) -> None:
        super().__init__(ended_id)
        self.ended_id = ended_id
        self.template_name = template_name


class WorkflowRecovery:
    """Runs work that may end a workflow."""

    def __init__(self, database: Database, rendering: Rendering) -> None:
        self._database = database
        self._rendering = rendering

    async def run(self, work: Work[T], *, actor: str) -> Written[T]:
        """Run `work` in one transaction. It passes the prepared recovery that it receives to `write`."""
        prepared: Prepared | None = None
        deadline = asyncio.get_running_loop().time() + PREPARE_SECONDS
        for _ in range(_TRIES):
            try:
                return await self._write(work, prepared, actor)
            except _Unprepared as due:
                ended_id, template_name = due.ended_id, due.template_name
            prepared = await self._prepare(ended_id, template_name, deadline)
        assert prepared is not None
        why = f"the template {prepared.template_name} is being changed all the time"
        return await self._write(work, dataclasses.replace(prepared, draft=None, error=why), actor)

    async def _write(self, work: Work[T], prepared: Prepared | None, actor: str) -> Written[T]:
        return await self._database.write(lambda transaction: work(transaction, prepared), actor=actor)

    async def _prepare(self, ended_id: str, template_name: str, deadline: float) -> Prepared:
        prepared = Prepared(ended_id=ended_id, template_name=template_name)
        try:
            async with asyncio.timeout_at(deadline):
                return dataclasses.replace(prepared, draft=await self._draft(ended_id, template_name))
        except TimeoutError:
            return dataclasses.replace(prepared, error=f"it was not ready within {PREPARE_SECONDS:g} s")
        except errors.Unavailable:
            raise
        except errors.TinkwellError as error:
            return dataclasses.replace(prepared, error=str(error))

    async def _draft(self, ended_id: str, template_name: str) -> creation.Draft:
        lineage = await self._database.read(lambda connection: workflow_source.find_lineage(connection, ended_id))
        source = await workflow_source.find(self._database.fetch, template_name)
        if source is None:
            raise errors.NotFound("TEMPLATE", template_name)
        if source.id in lineage.template_ids:
            raise errors.IllegalTransition(f"template {source.name}", "a chain of recoveries uses no template twice")
        rendered = await self._rendering.render(source.data, lineage.devices, field="template", is_recovery=True)
        return creation.Draft(
            id=str(uuid.uuid4()),
            devices_text=lineage.devices,
            source=source,
            rendered=rendered,
            recovers=ended_id,
            with_units=True,
        )


async def write(transaction: Transaction, move: step.Move, prepared: Prepared | None) -> None:
    """Write steps as `step.write` does, and create the recovery if one of the steps ends the workflow."""
    end = move.steps[-1]
    if not isinstance(end, change.EndWorkflow) or not end.recovery_template:
        await step.write(transaction, move)
        return
    if prepared is None or (prepared.ended_id, prepared.template_name) != (move.workflow_id, end.recovery_template):
        raise _Unprepared(move.workflow_id, end.recovery_template)
    why = prepared.error
    if prepared.draft is not None:
        try:
            await _write_both(transaction, move, prepared.draft)
        except errors.TinkwellError as error:
            why = str(error)
        else:
            return
    transaction.changed = True
    failed = change.Recovery(template=end.recovery_template, error=why[:MAX_ERROR_CHARACTERS])
    await step.write(transaction, _with_recovery(move, failed))


async def _write_both(transaction: Transaction, move: step.Move, draft: creation.Draft) -> None:
    """Write an end and then the recovering workflow, so that their events come in this order; or write neither."""
    recovery = change.Recovery(template=draft.source.name, workflow_id=draft.id)
    async with transaction.savepoint():
        await step.write(transaction, _with_recovery(move, recovery))
        if not await creation.write(transaction, draft):
            raise _Unprepared(move.workflow_id, draft.source.name)


def _with_recovery(move: step.Move, recovery: change.Recovery) -> step.Move:
    *before, end = move.steps
    assert isinstance(end, change.EndWorkflow)
    assert end.cause is not None
    recovered = dataclasses.replace(end, cause=dataclasses.replace(end.cause, recovery=recovery))
    return dataclasses.replace(move, steps=[*before, recovered])
