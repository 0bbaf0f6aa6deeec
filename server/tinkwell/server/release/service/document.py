"""The one place where documents of releases are sealed before they are stored, and opened for authorized readers.

    owner                          documents
    operation ID                   source, result, args/STEP, and stale/PATH for what is secret in none of the others
    release_revision RELEASE/N     source, manifest, late
    release RELEASE                init/PATH, config/PATH, state/PATH

A text is secret in an operation if its request, its manifests, their images or its provisioner names it as secret, or
if it was secret in the release before. When a text becomes secret during the operation, it is sealed in everything that
is stored of the operation so far. A release without secrets is stored and read without any sealing.

Plans consist of paths. Paths are stored in too many places to be sealed, so a plan with a secret in a path is refused.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.release import sensitive
from tinkwell.core.release.kinds import OperationKind
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.report import ResourceReport, StepReport, step_id
from tinkwell.core.release.transition.change import (
    AddRevision,
    AddStep,
    Change,
    Changes,
    DropResource,
    HearSecrets,
    StoreResource,
    StoreResult,
)
from tinkwell.core.release.transition.row import ReleaseRow
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonObject, JsonValue
from tinkwell.server.database import offload
from tinkwell.server.database.database import Transaction
from tinkwell.server.release.service import document_value
from tinkwell.server.release.service.carry.opened import OpenedWork
from tinkwell.server.release.store import document as store
from tinkwell.server.release.store import lock
from tinkwell.server.release.store.request import Asked
from tinkwell.server.secret.seal import Owner
from tinkwell.server.secret.service.operations import Document, Opened, SecretService

_THREADS = 2
_NONE = frozenset[str]()
# Reports of these kinds add or replace documents.
_WITH_DOCUMENTS = (StoreResource, HearSecrets, DropResource, AddStep, StoreResult)


@dataclasses.dataclass(frozen=True, slots=True)
class _Stored:
    """The documents of one owner by name: opened, and as they are stored."""

    owner: Owner
    opened: Mapping[str, Document]
    values: Mapping[str, JsonValue]


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedSource:
    """The source of a revision with its secrets, the JSON pointers to them, and their texts."""

    value: JsonObject = dataclasses.field(repr=False)
    places: frozenset[str]
    texts: frozenset[str] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """The documents of an operation: source, manifest and late, and the pointers that images have named.

    `is_deployed_one`: the DEPLOYED revision has the same documents.
    """

    documents: Mapping[str, Document]
    declared: Mapping[str, Sequence[str]]
    is_deployed_one: bool


class Documents:
    """Seals and opens documents.

    Raises `errors.SecretsDisabled` if a key that is needed is missing, and `errors.InvalidField` for a text that cannot
    be kept secret.
    """

    def __init__(self, secrets: SecretService) -> None:
        self._secrets = secrets
        self._aside = offload.Aside(_THREADS)

    def require(self) -> None:
        """Raise `errors.SecretsDisabled` if there are no keys."""
        self._secrets.require()

    async def seal_source(self, transaction: Transaction, asked: Asked, release: ReleaseRow | None) -> str | None:
        """Seal the source of a new request, and return it in its stored form, or None if the request has none."""
        if asked.source is None:
            return None
        connection, owner, known = transaction.connection, _operation(asked.operation_id), _NONE
        if release is not None:
            numbers = {release.revision, release.latest_revision}
            owners = [_release(release.id), *(_revision(release.id, number) for number in numbers)]
            known = await self._secrets.texts(connection, owners)
        new = Document(asked.source, sensitive=asked.sensitive, texts=asked.secrets, opened=Opened(owner))
        sealed = await self._secrets.seal(connection, owner, {"source": new}, secrets=known)
        return await self._aside.run(document.dump_json, sealed["source"])

    async def is_source(self, transaction: Transaction, asked: Asked, stored: str | None) -> bool:
        """Return whether a request has the same source as the operation with its id, given in its stored form."""
        if stored is None or asked.source is None:
            return stored is None and asked.source is None
        own = await self._open(transaction, _operation(asked.operation_id), {"source": stored})
        return await self._aside.run(document.is_same, own.opened["source"].value, asked.source)

    async def source(self, transaction: Transaction, release_id: str, number: int) -> OpenedSource | None:
        """Return the source of a revision as it was given, or None if there is no such revision."""
        text = await store.revision_source(transaction.fetch, release_id, number)
        if text is None:
            return None
        owners = [_release(release_id), _revision(release_id, number)]
        known = await self._secrets.texts(transaction.connection, owners)
        found = (await self._open(transaction, owners[1], {"source": text})).opened["source"]
        return OpenedSource(document_value.as_object(found.value), found.sealed, known)

    async def plan_source(self, transaction: Transaction, operation_id: str) -> OpenedSource | None:
        """Return the source of a plan as it was given, or None for a plan of what is installed."""
        text = await store.source(transaction.fetch, operation_id)
        if text is None:
            return None
        owner = _operation(operation_id)
        known = await self._secrets.texts(transaction.connection, [owner])
        found = (await self._open(transaction, owner, {"source": text})).opened["source"]
        return OpenedSource(document_value.as_object(found.value), found.sealed, known)

    async def weigh(
        self, transaction: Transaction, locked: lock.Locked, manifest: JsonObject | None, late: JsonObject | None
    ) -> Brought | None:
        """Return the documents of an operation whose plan is submitted, or None if nothing of it can be secret.

        None is also returned if the operation cannot create a revision. Manifest and late are those of the submission,
        if it has any.
        """
        operation, release_id = locked.operation, locked.release_id
        if operation.kind is OperationKind.UNINSTALL or operation.revision:
            return None
        declared = await store.declared(transaction.fetch, release_id)
        if not (locked.has_secrets or declared or (manifest and sensitive.is_named(manifest))):
            return None
        if manifest is None:
            documents = (await self._open_revision(transaction, release_id, operation.rollback_of)).opened
        else:
            source = {"source": await store.source(transaction.fetch, operation.id) or "{}"}
            own = await self._open(transaction, _operation(operation.id), source)
            documents = {**own.opened, "manifest": Document(manifest), "late": Document(late)}
        deployed = (await self._open_revision(transaction, release_id, locked.deployed)).opened
        is_same = await self._aside.run(document_value.are_same, documents, deployed)
        return Brought(documents=documents, declared=declared, is_deployed_one=is_same)

    async def seal_plan(
        self, transaction: Transaction, locked: lock.Locked, brought: Brought, plan: Plan, changes: Changes
    ) -> Mapping[str, str]:
        """Seal the documents of an operation, and return those of the revision that it creates, if any."""
        known = await self._texts(transaction.connection, locked)
        documents, texts = await self._aside.run(document_value.with_places, brought.documents, brought.declared)
        known |= texts
        document_value.check_paths(plan, known)
        if locked.operation.kind is OperationKind.PLAN:
            # No revision is created whose manifest would hold them.
            await self._hear(transaction, locked, "", texts)
        if locked.has_source:
            await self._seal_own(transaction, locked.operation.id, known)
        born = next((each.revision for each in changes if isinstance(each, AddRevision)), None)
        if born is None:
            return {}
        owner = _revision(locked.release_id, born)
        sealed = await self._secrets.seal(transaction.connection, owner, documents, secrets=known)
        return await self._aside.run(document_value.dump, sealed)

    async def seal_changes(self, transaction: Transaction, locked: lock.Locked, changes: Changes) -> Changes:
        """Return the changes of reports with their documents in the stored form."""
        told = [each.report for each in changes if isinstance(each, StoreResource | HearSecrets)]
        if not locked.has_secrets and not any(each.sensitive or each.secrets for each in told):
            return changes
        if not any(isinstance(each, _WITH_DOCUMENTS) for each in changes):
            return changes
        before = await self._texts(transaction.connection, locked)
        known = before | await self._aside.run(document_value.texts_of, told)
        declared = {each.path: each.sensitive for each in told if each.init and each.sensitive}
        if declared or known != before:
            known = await self._seal_again(transaction, locked, known, declared)
        return tuple([await self._seal_change(transaction, locked, each, known) for each in changes])

    async def open_work(self, connection: AsyncConnection, locked: lock.Locked) -> OpenedWork:
        """Open all documents of an operation. Raises `errors.SecretsDisabled`, also if secrets of it were forgotten."""
        operation, plan_of = locked.operation, locked.plan_of
        number = operation.revision or operation.rollback_of
        revision = await self._secrets.open(connection, _revision(locked.release_id, number))
        if any(each.has_forgotten for each in revision.values()):
            raise errors.SecretsDisabled(
                f"those of revision {number} were deleted, since their key is lost; apply the release with its values"
            )
        return OpenedWork(
            texts=await self._texts(connection, locked),
            own=await self._secrets.open(connection, _operation(operation.id)),
            revision=revision,
            release=await self._secrets.open(connection, _release(locked.release_id)),
            plan=await self._secrets.open(connection, _operation(plan_of)) if plan_of else {},
            has_source=locked.has_source,
        )

    async def open_revision(self, connection: AsyncConnection, release_id: str, number: int) -> OpenedWork:
        """Open the documents of one revision."""
        return OpenedWork(revision=await self._secrets.open(connection, _revision(release_id, number)))

    async def _texts(self, connection: AsyncConnection, locked: lock.Locked) -> frozenset[str]:
        """Return the texts that are secret in an operation, from what is stored."""
        if not locked.has_secrets:
            return _NONE
        operation, release_id = locked.operation, locked.release_id
        numbers = {operation.revision or operation.rollback_of, locked.deployed, locked.newest}
        owners = [_operation(operation.id), _release(release_id), *(_revision(release_id, each) for each in numbers)]
        return await self._secrets.texts(connection, owners)

    async def _open(self, transaction: Transaction, owner: Owner, texts: Mapping[str, str]) -> _Stored:
        opened = await self._secrets.open(transaction.connection, owner)
        return await self._aside.run(_restore, owner, texts, opened)

    async def _open_revision(self, transaction: Transaction, release_id: str, number: int) -> _Stored:
        texts = await store.revision(transaction.fetch, release_id, number)
        return await self._open(transaction, _revision(release_id, number), texts)

    async def _seal_again(
        self,
        transaction: Transaction,
        locked: lock.Locked,
        known: frozenset[str],
        declared: Mapping[str, Sequence[str]],
    ) -> frozenset[str]:
        """Seal the texts that have become secret in everything that is stored of an operation; return its secret texts.

        `declared` has the pointers that images have just named.
        """
        release_id, number = locked.release_id, locked.operation.revision
        revision = await self._open_revision(transaction, release_id, number)
        if revision.opened:
            documents, texts = await self._aside.run(document_value.with_places, revision.opened, declared)
            known |= texts
            revision = dataclasses.replace(revision, opened=documents)
            changed = await self._seal_stored(transaction, revision, known)
            await store.write_revision(transaction, release_id, number, changed)
        await self._seal_own(transaction, locked.operation.id, known)
        rows = await store.resources(transaction.fetch, release_id)
        texts_of = {_of(name, path): text for path, found in rows.items() for name, text in found.items()}
        resources = await self._open(transaction, _release(release_id), texts_of)
        changed = await self._seal_stored(transaction, resources, known)
        by_path = {
            path: {name: changed[_of(name, path)] for name in store.OF_RESOURCE if _of(name, path) in changed}
            for path in rows
        }
        await store.write_resources(transaction, release_id, {path: found for path, found in by_path.items() if found})
        return known

    async def _seal_own(self, transaction: Transaction, operation_id: str, known: frozenset[str]) -> None:
        """Seal the texts that have become secret in the operation's own documents."""
        texts = {}
        if (source := await store.source(transaction.fetch, operation_id)) is not None:
            texts["source"] = source
        steps = await store.args(transaction.fetch, operation_id)
        texts |= {_of("args", step): document.dump_json(args) for step, args in steps.items()}
        own = await self._open(transaction, _operation(operation_id), texts)
        changed = await self._seal_stored(transaction, own, known)
        if "source" in changed:
            await store.write_source(transaction, operation_id, changed["source"])
        args = {step: changed[_of("args", step)] for step in steps if _of("args", step) in changed}
        await store.write_args(transaction, {step: document_value.arguments(text) for step, text in args.items()})

    async def _seal_stored(self, transaction: Transaction, stored: _Stored, known: frozenset[str]) -> Mapping[str, str]:
        """Seal stored documents again. Return, as JSON text, those that hold more secrets than before."""
        sealed = await self._secrets.seal(transaction.connection, stored.owner, stored.opened, secrets=known)
        changed = {name: each for name, each in sealed.items() if not document.is_same(each, stored.values[name])}
        return await self._aside.run(document_value.dump, changed)

    async def _seal_change(
        self, transaction: Transaction, locked: lock.Locked, each: Change, known: frozenset[str]
    ) -> Change:
        match each:
            case StoreResource():
                report = await self._seal_resource(transaction, locked, each.report, known)
                return dataclasses.replace(each, report=report)
            case HearSecrets():
                texts = await self._aside.run(document_value.texts_of, [each.report])
                await self._hear(transaction, locked, each.report.path, texts)
                return each
            case StoreResult():
                return StoreResult(await self._seal_result(transaction, locked, each.result, known))
            case DropResource():
                gone = {_of(name, each.path): Document(None) for name in store.OF_RESOURCE}
                await self._secrets.seal(transaction.connection, _release(locked.release_id), gone)
                return each
            case AddStep() if each.report.call.args is not None:
                return AddStep(await self._seal_step(transaction, locked, each.report, known))
            case _:
                return each

    async def _seal_resource(
        self, transaction: Transaction, locked: lock.Locked, told: ResourceReport, known: frozenset[str]
    ) -> ResourceReport:
        connection = transaction.connection
        given = {name: text for name in store.OF_RESOURCE if (text := getattr(told, name)) is not None}
        values = await self._aside.run(document_value.parse, given)
        documents = {
            _of(name, told.path): Document(value, sensitive=() if name == "init" else told.sensitive)
            for name, value in values.items()
        }
        sealed = await self._secrets.seal(connection, _release(locked.release_id), documents, secrets=known)
        await self._hear(transaction, locked, told.path, frozenset(told.secrets))
        texts = await self._aside.run(document_value.dump, sealed)
        # An empty text stays empty: it means that the document is deleted.
        init, config, state = (getattr(told, name) and texts[_of(name, told.path)] for name in store.OF_RESOURCE)
        return dataclasses.replace(told, init=init, config=config, state=state)

    async def _hear(self, transaction: Transaction, locked: lock.Locked, path: str, texts: frozenset[str]) -> None:
        """Store secrets of an operation that are in none of its documents."""
        if not texts:
            return
        owner, name = _operation(locked.operation.id), _of("stale", path)
        before = (await self._secrets.open(transaction.connection, owner)).get(name, Opened(owner))
        await self._secrets.seal(transaction.connection, owner, {name: Document(None, texts=texts | before.texts)})

    async def _seal_result(
        self, transaction: Transaction, locked: lock.Locked, text: str, known: frozenset[str]
    ) -> str:
        owner = _operation(locked.operation.id)
        values = await self._aside.run(document_value.parse, {"result": text})
        sealed = await self._secrets.seal(
            transaction.connection, owner, {"result": Document(values["result"], opened=Opened(owner))}, secrets=known
        )
        return (await self._aside.run(document_value.dump, sealed))["result"]

    async def _seal_step(
        self, transaction: Transaction, locked: lock.Locked, told: StepReport, known: frozenset[str]
    ) -> StepReport:
        owner, call = _operation(locked.operation.id), told.call
        name = _of("args", step_id(owner.id, told.path, told.ordinal))
        given = Document([*(call.args or ())], opened=Opened(owner))
        sealed = await self._secrets.seal(transaction.connection, owner, {name: given}, secrets=known)
        # The stored list may hold null.
        args = cast("tuple[str, ...]", tuple(cast("list[JsonValue]", sealed[name])))
        return dataclasses.replace(told, call=dataclasses.replace(call, args=args))


def _operation(operation_id: str) -> Owner:
    return Owner("operation", operation_id)


def _revision(release_id: str, number: int) -> Owner:
    return Owner("release_revision", f"{release_id}/{number}")


def _release(release_id: str) -> Owner:
    return Owner("release", release_id)


def _of(name: str, whose: str) -> str:
    return f"{name}/{whose}"


def _restore(owner: Owner, texts: Mapping[str, str], opened: Mapping[str, Opened]) -> _Stored:
    values = document_value.parse(texts)
    sealed = {name: opened.get(name, Opened(owner)) for name in values}
    found = {name: Document(sealed[name].restore(value), opened=sealed[name]) for name, value in values.items()}
    return _Stored(owner, found, values)
