"""The calls with which a provisioner takes an operation, stores its plan, and reports about it."""

import dataclasses
from collections.abc import Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import plan as plans
from tinkwell.core.release.record import Node, Operation
from tinkwell.core.release.report import Report
from tinkwell.core.release.transition import ending as end_rules
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.release.transition import progress, submission
from tinkwell.core.release.transition.row import OperationRow
from tinkwell.core.value import check, document, parse
from tinkwell.core.value.document import JsonObject
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import ending
from tinkwell.server.release.service.carry import report
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.store import change, lock, queries
from tinkwell.server.release.store import submission as store

MAX_TOKEN = 2**63 - 1
MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
# Documents of this size are checked in much less than a millisecond.
MAX_QUICK_CHARACTERS = 16 * 1024
_PARSERS = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Acquired:
    """An operation that was acquired.

    `is_first`: no lease had it before. `is_same_engine`: its former owner has, or had, the caller's engine.
    """

    operation: Operation
    is_first: bool
    is_same_engine: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NewPlan:
    """A plan as it was submitted, with the JSON texts of its documents.

    `manifest` and `late` are optional. They are used if the operation has rendered a manifest; otherwise the documents
    of the operation's revision are used.
    """

    operation_id: str
    lease_token: int
    has_plugs: bool
    plan: str
    manifest: str = ""
    late: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Submitted:
    """The revision that is being installed, 0 for a removal, and the nodes of the plan in order."""

    revision: int
    nodes: Sequence[Node]


@dataclasses.dataclass(frozen=True, slots=True)
class _Parsed:
    """The documents of a submission, None for a missing one, and the text of the part of the plan that installs."""

    plan: plans.Plan
    installation: str
    manifest: JsonObject | None
    late: JsonObject | None


class Carrying:
    """Implements AcquireOperation, SubmitPlan and ReportOperation."""

    def __init__(self, database: Database, documents: Documents) -> None:
        self._database = database
        self._documents = documents
        self._aside = offload.Aside(_PARSERS)

    async def acquire(self, operation_id: str, lease_token: int, *, actor: str) -> Acquired:
        """Put an operation under a lease, and start it if it is PENDING.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.LeaseHeld`, `errors.LeaseLost`, and
        `errors.IllegalTransition` if it has ended or its release belongs to another engine.
        """
        operation_id = parse_operation(operation_id, lease_token)

        async def work(transaction: Transaction) -> Acquired | None:
            transaction.changed = False
            locked = await _lock(transaction, operation_id, lease_token)
            # A cancelled operation may be acquired before its deadline, so that its new owner can stop what still runs.
            if locked.operation.remaining_seconds <= 0 and end_rules.is_due(locked.operation, locked.hold):
                leftover = await lock.leftover(transaction, locked)
                await ending.write(transaction, locked, ending.expire(locked, leftover))
                return None
            reporter = _reporter(lease_token, locked)
            acquired = rules.acquire(
                locked.operation,
                release_engine=locked.release_engine,
                running=[s for s in (await lock.leftover(transaction, locked)).steps if s.state is State.RUNNING],
                hold=locked.hold,
                reporter=reporter,
            )
            move = change.Move(operation_id=operation_id, changes=acquired.changes, lease_id=reporter.lease_id)
            await change.write(transaction, move)
            found = await _operation(transaction, operation_id)
            return Acquired(found, acquired.is_first, acquired.is_same_engine)

        acquired = (await self._database.write(work, actor=actor)).value
        if acquired is None:
            # Raised only here, outside of the transaction, so that the end stays written.
            raise errors.IllegalTransition(f"operation {operation_id}", "its deadline has passed, which has ended it")
        return acquired

    async def submit(self, new: NewPlan, *, actor: str) -> Submitted:
        """Store the plan of an operation. A repeated call changes nothing.

        Raises `errors.InvalidField`, `errors.NotFound`, `errors.LeaseLost`, `errors.SecretsDisabled`, and
        `errors.IllegalTransition` if the operation has ended, is about to end, or has another plan.
        """
        operation_id = parse_operation(new.operation_id, new.lease_token)
        parsed = await self._aside.run(_parse, new)

        async def work(transaction: Transaction) -> Submitted:
            transaction.changed = False
            locked = await _lock(transaction, operation_id, new.lease_token)
            accepted = await self._submit(transaction, locked, new, parsed)
            return Submitted(accepted.revision, await store.nodes(transaction, operation_id))

        return (await self._database.write(work, actor=actor)).value

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report], *, actor: str) -> Operation:
        """Apply reports about an operation in order, all or none, and return the operation.

        Repeated reports change nothing. Raises `errors.InvalidField`, `errors.NotFound`, `errors.LeaseLost`,
        `errors.IllegalTransition`, and `errors.SecretsDisabled` if reports contain secrets.
        """
        operation_id = parse_operation(operation_id, lease_token)
        if sum(report.size(each) for each in reports) <= MAX_QUICK_CHARACTERS:
            reports = report.check(reports)
        else:
            reports = await self._aside.run(report.check, reports)

        async def work(transaction: Transaction) -> Operation:
            transaction.changed = False
            locked = await _lock(transaction, operation_id, lease_token)
            await self._report(transaction, locked, reports, _reporter(lease_token, locked))
            return await _operation(transaction, operation_id)

        return (await self._database.write(work, actor=actor)).value

    async def _submit(
        self, transaction: Transaction, locked: lock.Locked, new: NewPlan, parsed: _Parsed
    ) -> submission.Accepted:
        operation, release_id = locked.operation, locked.release_id
        documents = _documents(operation, new, parsed.installation)
        is_rendered = documents.manifest is not None
        brought = await self._documents.weigh(
            transaction, locked, parsed.manifest if is_rendered else None, parsed.late if is_rendered else None
        )
        if brought is not None:
            is_deployed_one = brought.is_deployed_one
        else:
            is_deployed_one = await store.is_deployed(transaction, operation.id, documents)
        submitted = submission.Submission(
            release=await lock.lock_release(transaction, release_id),
            operation=operation,
            plan=parsed.plan,
            plan_text=new.plan,
            stored_plan=await store.plan(transaction, operation.id),
            resumed=await lock.revision(transaction, release_id, operation.revision),
            is_deployed_one=is_deployed_one,
            has_plugs=new.has_plugs,
        )
        reporter = _reporter(new.lease_token, locked)
        accepted = submission.submit_plan(submitted, hold=locked.hold, reporter=reporter)
        if brought is not None and accepted.changes:
            sealed = await self._documents.seal_plan(transaction, locked, brought, parsed.plan, accepted.changes)
            documents = dataclasses.replace(documents, **sealed)
        move = change.Move(operation_id=operation.id, changes=accepted.changes, documents=documents)
        await change.write(transaction, move)
        return accepted

    async def _report(
        self, transaction: Transaction, locked: lock.Locked, reports: Sequence[Report], reporter: lease.Reporter
    ) -> None:
        operation = locked.operation
        paths = progress.paths(reports)
        nodes, steps = await lock.nodes(transaction, operation.id, sorted(paths)) if paths else ({}, {})
        ends = progress.ends(reports) and not operation.state.is_final
        leftover = await lock.leftover(transaction, locked) if ends else None
        work = progress.Work(operation=operation, nodes=nodes, steps=steps, leftover=leftover)
        changes = progress.report(work, reports, hold=locked.hold, reporter=reporter)
        changes = await self._documents.seal_changes(transaction, locked, changes)
        if ends:
            await ending.write(transaction, locked, changes, lease_id=reporter.lease_id)
        else:
            await change.write(transaction, change.Move(operation_id=operation.id, changes=changes))


def parse_operation(operation_id: str, lease_token: int) -> str:
    """Check the fields that every call of a provisioner has. Raises `errors.InvalidField`."""
    operation_id = parse.parse_uuid("operation_id", operation_id)
    parse.parse_int_range("lease_token", lease_token, low=0, high=MAX_TOKEN)
    return operation_id


def _documents(operation: OperationRow, new: NewPlan, installation: str) -> change.Documents:
    """Return the documents to store. An operation that has rendered nothing uses stored documents."""
    manifest, late = None, None
    if operation.renders:
        manifest, late = new.manifest, new.late
        checks = check.Checks()
        for field, text in (("manifest", manifest), ("late", late)):
            if not text:
                checks.refuse(field, "is missing; an operation that renders it submits it")
        checks.finish()
    return change.Documents(manifest=manifest, late=late, plan=new.plan, installation=installation)


def _parse(new: NewPlan) -> _Parsed:
    """Check the documents of a submission, and write the part of the plan that installs."""
    manifest, late = (
        document.parse_json_object(field, text, max_bytes=MAX_DOCUMENT_BYTES) if text else None
        for field, text in (("manifest", new.manifest), ("late", new.late))
    )
    plan = plans.Plan.load(new.plan)
    return _Parsed(plan, plan.installation.dump(), manifest, late)


async def _lock(transaction: Transaction, operation_id: str, lease_token: int) -> lock.Locked:
    locked = await lock.lock(transaction, operation_id, lease_token=lease_token)
    if locked is None:
        raise ending.missing(operation_id)
    return locked


async def _operation(transaction: Transaction, operation_id: str) -> Operation:
    found = await queries.operation(transaction.fetch, operation_id)
    assert found is not None
    return found


def _reporter(lease_token: int, locked: lock.Locked) -> lease.Reporter:
    return lease.Reporter(lease_token, locked.own)
