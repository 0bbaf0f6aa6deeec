"""Deletes the secrets of releases that a lost key has sealed, so that these releases can be changed and removed again.

Their documents are then stored with null in place of the secrets, and provisioners read them so, too. An image is asked
for its answer to `init` again if that answer contained a secret. A revision that has lost a secret cannot be restored
by a rollback or resumed, because its resources would get null. A plan that has lost a secret is deleted, so that it
cannot be applied.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.service import request as requests
from tinkwell.server.release.store import forget as store
from tinkwell.server.release.store.forget import OwningOperation, OwningRelease
from tinkwell.server.secret.seal import Sealed
from tinkwell.server.secret.service import forget as secrets

# The kinds of owners are the names of their tables.
_OPERATION, _RELEASE, _REVISION = "operation", "release", "release_revision"


@dataclass(frozen=True, slots=True)
class Loss:
    """The number of values that a release loses, by document.

    `title` is its name, with the namespace if it needs one.
    """

    title: str
    part: str
    documents: Sequence[str]
    values: int


class Forgetting:
    """Finds what a key has sealed, and deletes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, key: bytes) -> Sequence[Loss]:
        """Return what would be lost with a key, by its id."""

        async def work(transaction: Transaction) -> Sequence[Loss]:
            transaction.changed = False
            return await _losses(transaction, await secrets.sealed_by(transaction.connection, key))

        return (await self._database.write(work, actor="")).value

    async def forget(self, key: bytes) -> Sequence[Loss]:
        """Delete what a key has sealed, and return the losses.

        Raises `errors.IllegalTransition` while an operation of an affected release has not ended, because it would go
        on with null.
        """

        async def work(transaction: Transaction) -> Sequence[Loss]:
            transaction.changed = False
            releases = await _releases(transaction, await secrets.sealed_by(transaction.connection, key))
            await store.lock(transaction, list(releases))
            await _refuse_unfinished(transaction, releases)
            found = await secrets.sealed_by(transaction.connection, key)
            losses = await _losses(transaction, found)
            await secrets.forget(transaction.connection, key, marked_kinds=[_REVISION])
            await store.drop_inits(transaction, list(_inits(found)))
            await store.drop_plans(transaction, _ids(found, _OPERATION))
            return losses

        return (await self._database.write(work, actor="")).value


async def _releases(transaction: Transaction, found: Sequence[Sealed]) -> Mapping[str, OwningRelease]:
    """Return the releases that own these documents, by id."""
    operations = await store.operations(transaction.fetch, _ids(found, _OPERATION))
    ids = {operation.release_id for operation in operations.values()}
    ids.update(_ids(found, _RELEASE), (each.partition("/")[0] for each in _ids(found, _REVISION)))
    return await store.releases(transaction.fetch, sorted(ids))


async def _refuse_unfinished(transaction: Transaction, releases: Mapping[str, OwningRelease]) -> None:
    for operation_id, release_id in (await store.unfinished(transaction.fetch, list(releases))).items():
        why = "it has not ended, and would go on with null; end it by `tinkwell release cancel`, and begin again"
        raise errors.IllegalTransition(f"operation {operation_id} of {_title(releases[release_id])}", why)


async def _losses(transaction: Transaction, found: Sequence[Sealed]) -> Sequence[Loss]:
    """Return the losses in the order of the releases' names. Documents that are gone in the meantime are left out."""
    operations = await store.operations(transaction.fetch, _ids(found, _OPERATION))
    releases = await _releases(transaction, found)
    parts: dict[str, dict[str, list[Sealed]]] = {release_id: {} for release_id in releases}
    for each in found:
        operation = operations.get(each.owner.id)
        release_id = operation.release_id if operation is not None else each.owner.id.partition("/")[0]
        if each.values and release_id in parts:
            parts[release_id].setdefault(_part(each, operation), []).append(each)
    return [
        Loss(_title(releases[release_id]), part, _names(documents), sum(each.values for each in documents))
        for release_id, of_release in parts.items()
        for part, documents in of_release.items()
    ]


def _part(sealed: Sealed, operation: OwningOperation | None) -> str:
    if operation is not None:
        return f"operation {sealed.owner.id} ({operation.kind} {operation.state})"
    if sealed.owner.kind == _REVISION:
        return f"revision {sealed.owner.id.partition('/')[2]}"
    return f"resource {sealed.document.partition('/')[2]}"


def _names(documents: Iterable[Sealed]) -> Sequence[str]:
    """Return the names of documents without their owners."""
    return sorted({each.document.partition("/")[0] for each in documents})


def _title(release: OwningRelease) -> str:
    return requests.title(release.namespace, release.name)


def _ids(found: Iterable[Sealed], kind: str) -> list[str]:
    return sorted({each.owner.id for each in found if each.owner.kind == kind})


def _inits(found: Iterable[Sealed]) -> Iterable[tuple[str, str]]:
    for each in found:
        name, _, path = each.document.partition("/")
        if each.owner.kind == _RELEASE and name == "init" and each.values:
            yield each.owner.id, path
