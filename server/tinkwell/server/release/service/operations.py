"""Releases: begun, carried out, cancelled and read."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence

from tinkwell.core import errors
from tinkwell.core.release import name as names
from tinkwell.core.release import prerequisite
from tinkwell.core.release.lifecycle_event.name import CoreEvent
from tinkwell.core.release.lifecycle_event.registry import Registry
from tinkwell.core.release.lifecycle_event.run import LifecycleRun
from tinkwell.core.release.record import Node, Operation, Release, Resource, Revision, Step, UnfinishedOperation
from tinkwell.core.release.transition import ending as end_rules
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import ending
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.beginning import Beginning
from tinkwell.server.release.service.carry.carrying import Carrying
from tinkwell.server.release.service.carry.work import WorkReader
from tinkwell.server.release.service.chart.all_values import AllValues
from tinkwell.server.release.service.chart.beginning import ChartBeginning
from tinkwell.server.release.service.chart.charts import Charts
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.service.ending import Expiry
from tinkwell.server.release.service.explaining import Explaining, Explanation
from tinkwell.server.release.service.listener import Function
from tinkwell.server.release.service.listing import Listing
from tinkwell.server.release.service.looking import Looking
from tinkwell.server.release.store import change, lifecycle, lock, queries
from tinkwell.server.secret.service.operations import SecretService

_PAGE = 500
MAX_NAMESPACES = 100
MAX_PATH_BYTES = 2_000


@dataclasses.dataclass(frozen=True, slots=True)
class NodeOfPlan:
    """A node with its steps in order, and the paths of the nodes that it waits for; see `prerequisite`."""

    node: Node
    steps: Sequence[Step]
    after: Sequence[str]


class ReleaseService:
    """The operations on releases.

    Methods that take an id or a name raise `errors.InvalidField` and `errors.NotFound` for it. A call that names an
    operation or its release first ends the operation if it is past its deadline or cancelled and no live lease holds
    it.
    """

    def __init__(self, database: Database, secrets: SecretService, registry: Registry[Function] | None = None) -> None:
        documents = Documents(secrets)
        self._database = database
        self.expiry = Expiry(database)
        self.beginning = Beginning(database, self.expiry, documents)
        self.charts = Charts(database)
        self.chart_beginning = ChartBeginning(database, self.expiry, documents, self.charts, self.beginning)
        self.looking = Looking(database, documents, self.beginning, self.chart_beginning)
        self._all_values = AllValues(database, documents, self.charts)
        self.listing = Listing(database, registry or Registry([CoreEvent.LIST]))
        self._explaining = Explaining(database, self._all_values)
        self.carrying = Carrying(database, documents)
        self.work = WorkReader(database, documents)

    async def cancel(self, operation_id: str, *, now: bool, reason: str, actor: str) -> Operation:
        """Request the end of an operation, and return it. An operation without a live lease ends at once.

        With `now`, running steps get no time to finish. An operation that has ended stays unchanged.
        """
        operation_id = parse.parse_uuid("operation_id", operation_id)
        reason = requests.parse_reason("reason", reason)

        async def work(transaction: Transaction) -> Operation:
            transaction.changed = False
            locked = await lock.lock(transaction, operation_id)
            if locked is None:
                raise ending.missing(operation_id)
            changes = rules.cancel(locked.operation, hold=locked.hold, now=now)
            if changes is None:
                leftover = await lock.leftover(transaction, locked)
                changes = end_rules.cancel(locked.operation, leftover, reason=reason or locked.cancel_reason)
                await ending.write(transaction, locked, changes, cancel_reason=reason or None)
            else:
                move = change.Move(operation_id=operation_id, changes=changes, cancel_reason=reason or None)
                await change.write(transaction, move)
            stored = await queries.operation(transaction.fetch, operation_id)
            assert stored is not None
            return stored

        return (await self._database.write(work, actor=actor)).value

    async def get(self, *, release_id: str, namespace: str, name: str, actor: str) -> Release:
        """Return a release by its id, even if it was uninstalled, or by its namespace and name."""
        if not release_id:
            return await self._named(namespace, name, actor=actor)
        release_id = parse.parse_uuid("id", release_id)
        found = await queries.by_id(self._database.fetch, release_id)
        if found is None:
            raise errors.NotFound("RELEASE", release_id)
        if (due := await queries.due_by_id(self._database.fetch, release_id)) is not None:
            await self.expiry.end(due, actor=actor)
        return await queries.by_id(self._database.fetch, release_id) or found

    async def history(self, namespace: str, name: str, *, actor: str) -> AsyncGenerator[Revision, None]:
        """Yield the revisions of a release without their documents, newest first."""
        release = await self._named(namespace, name, actor=actor)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.history(connection, release.id)) as revisions,
        ):
            async for revision in revisions:
                yield revision

    async def get_revision(
        self, namespace: str, name: str, number: int, *, with_all_values: bool = False, actor: str
    ) -> Revision:
        """Return a revision with its documents. 0 means the last that was deployed, or the newest if none was.

        Raises `errors.SecretsDisabled` if all values are requested and cannot be computed without a key.
        """
        parse.parse_int_range("revision", number, low=0, high=requests.MAX_REVISION)
        release = await self._named(namespace, name, actor=actor)
        found = await queries.revision(self._database.fetch, release.namespace, release.name, number)
        if found is None:
            title = requests.title(release.namespace, release.name)
            raise errors.NotFound("REVISION", f"{number} of release {title}" if number else f"of release {title}")
        if not with_all_values:
            return found
        values = await self._all_values.of_revision(found.release_id, found.revision, found.manifest, actor=actor)
        return dataclasses.replace(found, all_values=values)

    async def get_operation(self, operation_id: str, *, actor: str) -> Operation:
        """Return an operation with its result."""
        found = await self._operation(parse.parse_uuid("id", operation_id), actor=actor)
        return dataclasses.replace(found, result=await queries.result(self._database.fetch, found.id))

    async def list_operations(self, namespace: str, name: str, *, actor: str) -> AsyncGenerator[Operation, None]:
        """Yield the operations of a release, newest first."""
        release = await self._named(namespace, name, actor=actor)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.list_operations(connection, release.id)) as operations,
        ):
            async for operation in operations:
                yield operation

    async def list_nodes(self, operation_id: str, *, actor: str) -> AsyncGenerator[NodeOfPlan, None]:
        """Yield the nodes of an operation in the order of its plan, each with its steps in order."""
        operation_id = parse.parse_uuid("operation_id", operation_id)
        await self._operation(operation_id, actor=actor)
        async with self._database.snapshot() as connection:
            nodes = await queries.list_nodes(connection, operation_id)
            planned = await queries.list_planned(connection, operation_id)
            after = await asyncio.to_thread(prerequisite.named, planned)
            for node, steps in nodes:
                yield NodeOfPlan(node, steps, after.get(node.path, ()))

    async def list_lifecycle(self, operation_id: str, *, actor: str) -> list[LifecycleRun]:
        """Return the lifecycle events that an operation emitted, in order."""
        operation_id = parse.parse_uuid("operation_id", operation_id)
        await self._operation(operation_id, actor=actor)
        return await lifecycle.list_runs(self._database.fetch, operation_id)

    async def list_resources(self, namespace: str, name: str, *, actor: str) -> AsyncGenerator[Resource, None]:
        """Yield the resources of a release by path, in the state in which they were last observed."""
        release = await self._named(namespace, name, actor=actor)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.list_resources(connection, release.id)) as resources,
        ):
            async for resource in resources:
                yield resource

    async def explain(
        self, namespace: str, name: str, *, path: str, operation_id: str, with_values: bool, actor: str
    ) -> Explanation:
        """Explain the nodes of an operation, or of the newest if none is given, or the origins of values.

        Raises `errors.InvalidField` for a path that names nothing, and `errors.SecretsDisabled`.
        """
        path = parse.parse_text("path", path, max_bytes=MAX_PATH_BYTES, allow_empty=True)
        release = await self._named(namespace, name, actor=actor)
        id_ = parse.parse_uuid("operation_id", operation_id) if operation_id else release.operation_id
        operation = await self._operation(id_, actor=actor)
        if operation.release_id != release.id:
            raise errors.InvalidField.of("operation_id", f"{id_} is an operation of {operation.release_name}")
        if with_values:
            return await self._explaining.values(release, operation, path, actor=actor)
        return await self._explaining.nodes(release, operation, path, actor=actor)

    async def list_unfinished(
        self, namespaces: Sequence[str], *, actor: str
    ) -> AsyncGenerator[UnfinishedOperation, None]:
        """Yield the operations that have not ended, oldest first, of some namespaces, or of all if none is given."""
        checks = check.Checks()
        if len(namespaces) > MAX_NAMESPACES:
            checks.refuse("namespaces", f"there are {len(namespaces):,}; at most {MAX_NAMESPACES} may be")
        for index, namespace in enumerate(namespaces[:MAX_NAMESPACES]):
            checks.take(names.parse_name, parse.child("namespaces", index), namespace)
        checks.finish()
        await self.expiry.end_all(actor=actor)
        place: queries.Place | None = queries.BEGINNING
        while place is not None:
            page, place = await queries.unfinished(self._database.fetch, namespaces, after=place, limit=_PAGE)
            for listed in page:
                yield listed

    async def _named(self, namespace: str, name: str, *, actor: str) -> Release:
        namespace, name = requests.parse_release(namespace, name)
        await self.expiry.end_of_release(namespace, name, actor=actor)
        found = await queries.by_name(self._database.fetch, namespace, name)
        if found is None:
            raise requests.missing(namespace, name)
        return found

    async def _operation(self, operation_id: str, *, actor: str) -> Operation:
        found = await queries.operation(self._database.fetch, operation_id)
        if found is not None and _may_be_due(found):
            await self.expiry.end(operation_id, actor=actor)
            found = await queries.operation(self._database.fetch, operation_id)
        if found is None:
            raise ending.missing(operation_id)
        return found


def _may_be_due(operation: Operation) -> bool:
    """Return whether an operation has to end if no live lease holds it."""
    # Only an operation that has not ended has time left.
    left = operation.remaining_seconds
    return left is not None and (left <= 0 or operation.is_cancel_requested)
