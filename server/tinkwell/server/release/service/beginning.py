"""Begins operations. A repeated request returns the operation that the first request began."""

import uuid
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.record import Operation
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.service.ending import Expiry
from tinkwell.server.release.store import lock, queries
from tinkwell.server.release.store import request as store
from tinkwell.server.release.store.request import Asked

_PARSERS = 2
_TRIES = 5

# Decides what a request begins on a release. The release is None if the name is free.
Judge: TypeAlias = Callable[[Transaction, ReleaseRow | None], Awaitable[Begun]]


class _NameTaken(Exception):
    """Another transaction has created a release with this name at the same moment."""


class Beginning:
    """Implements Apply, Rollback, Uninstall and Resume.

    All of them raise `errors.InvalidField`; `errors.OperationActive` while another operation of the release has not
    ended; `errors.IllegalTransition` if the release's state does not allow the request; and `errors.AlreadyExists` if
    the id belongs to an operation of a different request. All but Apply raise `errors.NotFound`.
    """

    def __init__(self, database: Database, expiry: Expiry, documents: Documents) -> None:
        self._database = database
        self._expiry = expiry
        self._documents = documents
        self._aside = offload.Aside(_PARSERS)

    async def apply(self, request: requests.Apply, *, actor: str) -> Operation:
        """Begin an installation or an upgrade. Raises `errors.SecretsDisabled` if secrets cannot be sealed."""
        asked = await self._aside.run(requests.parse_apply, request)

        async def judge(_: Transaction, release: ReleaseRow | None) -> Begun:
            return rules.begin_apply(release)

        return await self._begin_sealed(asked, judge, actor=actor)

    async def plan(self, request: requests.Apply, *, actor: str) -> Operation:
        """Begin a plan of an `apply`. Raises what `apply` raises."""
        asked = await self._aside.run(requests.parse_apply, request, call="PLAN")
        name = requests.title(asked.namespace, asked.name)

        async def judge(_: Transaction, release: ReleaseRow | None) -> Begun:
            return rules.begin_plan(release, name=name, has_source=True)

        return await self._begin_sealed(asked, judge, actor=actor)

    async def rollback(self, request: requests.Rollback, *, actor: str) -> Operation:
        """Begin to restore an earlier revision."""
        asked = requests.parse_rollback(request)
        name, wanted = requests.title(asked.namespace, asked.name), request.revision

        async def judge(transaction: Transaction, release: ReleaseRow | None) -> Begun:
            target = None
            if release is not None and wanted:
                target = await lock.revision(transaction, release.id, wanted)
            elif release is not None:
                target = await lock.former_revision(transaction, release.id)
            return rules.begin_rollback(release, name=name, wanted=wanted, target=target)

        return await self.begin(asked, judge, actor=actor)

    async def uninstall(self, request: requests.Request, *, actor: str) -> Operation:
        """Begin to remove a release."""
        asked = requests.parse_uninstall(request)
        name = requests.title(asked.namespace, asked.name)

        async def judge(_: Transaction, release: ReleaseRow | None) -> Begun:
            return rules.begin_uninstall(release, name=name)

        return await self.begin(asked, judge, actor=actor)

    async def resume(self, request: requests.Request, *, actor: str) -> Operation:
        """Begin to resume a release whose last operation failed."""
        asked = requests.parse_resume(request)
        name = requests.title(asked.namespace, asked.name)

        async def judge(transaction: Transaction, release: ReleaseRow | None) -> Begun:
            newest = await lock.planned(transaction, release.id) if release is not None else None
            return rules.begin_resume(release, name=name, newest=newest, options=asked.options)

        return await self.begin(asked, judge, actor=actor)

    async def _begin_sealed(self, asked: Asked, judge: Judge, *, actor: str) -> Operation:
        if asked.secrets:
            self._documents.require()
        return await self.begin(asked, judge, actor=actor)

    async def begin(self, asked: Asked, judge: Judge, *, actor: str) -> Operation:
        """Begin the requested operation, unless that was done already. The judge may raise further errors."""
        await self._expiry.end_of_release(asked.namespace, asked.name, actor=actor)
        for _ in range(_TRIES):
            try:
                written = await self._database.write(
                    lambda transaction: self._begin_once(transaction, asked, judge), actor=actor
                )
            except _NameTaken:
                continue
            return written.value
        raise errors.LostRace(f"the release {asked.name} is made and removed all the time; try again")

    async def _begin_once(self, transaction: Transaction, asked: Asked, judge: Judge) -> Operation:
        transaction.changed = False
        release = await lock.lock_named(transaction, asked.namespace, asked.name)
        # Only after the lock: the request that began this operation on this release held it.
        known = await store.find(transaction, asked)
        if known is None:
            begun = await judge(transaction, release)
            await self._write(transaction, asked, release, begun)
        elif not known.is_same or not await self._documents.is_source(transaction, asked, known.source):
            raise errors.AlreadyExists("operation_id", asked.operation_id)
        stored = await queries.operation(transaction.fetch, asked.operation_id)
        assert stored is not None
        return stored

    async def _write(self, transaction: Transaction, asked: Asked, release: ReleaseRow | None, begun: Begun) -> None:
        """Write an operation. If the name is free and the rules allow it, this creates the release."""
        release_id = release.id if release is not None else str(uuid.uuid4())
        if release is None:
            if not await store.insert_release(transaction, release_id, asked, begun):
                raise _NameTaken
        elif begun.kind.changes_release or release.state is ReleaseState.PLANNED:
            await store.move_release(transaction, release_id, asked, begun)
        source = await self._documents.seal_source(transaction, asked, release)
        if not await store.insert(transaction, release_id, asked, begun, source=source):
            raise errors.AlreadyExists("operation_id", asked.operation_id)
