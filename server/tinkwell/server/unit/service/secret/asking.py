"""Implements SecretService: secrets of users, and people's view of all other secrets."""

import contextlib
import dataclasses
import os
from collections.abc import AsyncGenerator, Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import limit, secret
from tinkwell.core.unit import name as names
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.secret import sealed
from tinkwell.server.unit.service.secret.drafting import parse_description
from tinkwell.server.unit.service.secret.reading import MAX_REVISION
from tinkwell.server.unit.store.delivery import LookAgain
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import namespace as namespace_store
from tinkwell.server.unit.store.secret import asking as store
from tinkwell.server.unit.store.secret import effect
from tinkwell.server.unit.store.secret.asking import Revision, Secret

__all__ = ["Named", "New", "Revision", "Secret", "Secrets"]

_MAX_NAME_BYTES = 400


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A user's secret to create."""

    id: str = ""
    namespace: str = ""
    label: str = ""
    description: str = ""
    content: Mapping[str, str] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Named:
    """A secret by its namespace, and its name or label, both checked."""

    namespace: str
    name: str


class Secrets:
    """People's view of secrets. Methods that name a secret raise `errors.InvalidField` and `errors.NotFound`."""

    def __init__(self, database: Database, sealing: SecretService) -> None:
        self._database = database
        self._sealing = sealing

    async def create(self, new: New, *, actor: str) -> Secret:
        """Create a user's secret. A repeated request with the same id changes nothing.

        Raises `errors.AlreadyExists` for a label that is taken, `errors.LimitReached` if there are too many, and
        `errors.SecretsDisabled`.
        """
        new = _checked(new)
        self._sealing.require()

        async def work(transaction: Transaction) -> Secret:
            if new.id and (former := await store.find_by_id(transaction.fetch, new.id)) is not None:
                transaction.changed = False
                if (former.namespace, former.owner, former.label) != (new.namespace, "", new.label):
                    raise errors.AlreadyExists("id", new.id, taken_by=f"secret {former.name}")
                return former
            await namespace_store.ensure(transaction, new.namespace)
            await _check_label(transaction, new.namespace, new.label)
            if await store.count(transaction, new.namespace) >= limit.SECRETS_PER_OWNER:
                sentence = f"the users of namespace {new.namespace} have {limit.SECRETS_PER_OWNER:,} secrets already"
                raise errors.LimitReached(f"{sentence}; remove some, or keep more keys in one")
            secret_id = await store.insert(
                transaction,
                secret_id=new.id,
                namespace=new.namespace,
                name=secret.new_id(os.urandom(secret.ID_BYTES)),
                label=new.label,
                description=new.description,
            )
            await self._add_revision(transaction, secret_id, 1, new.content)
            return await _found(transaction, secret_id)

        return (await self._database.write(work, actor=actor)).value

    async def update(
        self,
        namespace: str,
        name: str,
        *,
        content: Mapping[str, str],
        label: str | None,
        description: str | None,
        actor: str,
    ) -> Secret:
        """Change a user's secret: a new revision if there is content, a new label, or a new description.

        Raises `errors.IllegalTransition` for a secret that is not a user's, and what `create` raises.
        """
        named = _named(namespace, name)
        checks = check.Checks()
        if content:
            checks.take(secret.parse_content, "content", content)
        _check_texts(checks, label, description)
        checks.finish()
        if content:
            self._sealing.require()

        async def work(transaction: Transaction) -> Secret:
            found = await _lock(transaction, named)
            if label is not None and label != found.label:
                await _check_label(transaction, named.namespace, label)
            transaction.changed = bool(content) or (label, description) != (None, None)
            if transaction.changed:
                latest = found.latest + bool(content)
                if content and len(found.revisions) >= limit.REVISIONS_PER_SECRET:
                    sentence = f"secret {found.name} has {limit.REVISIONS_PER_SECRET:,} revisions already"
                    raise errors.LimitReached(f"{sentence}; remove those that nobody reads")
                await store.update(transaction, found.id, label=label, description=description, latest=latest)
                if content:
                    await self._add_revision(transaction, found.id, latest, content)
            return await _found(transaction, found.id)

        return (await self._database.write(work, actor=actor)).value

    async def remove(self, namespace: str, name: str, *, revision: int, actor: str) -> None:
        """Remove a user's secret, or one of its revisions.

        The newest revision can be removed only if it is the only one. Raises `errors.IllegalTransition` for a secret
        that is not a user's, and for the newest revision.
        """
        named = _named(namespace, name)
        parse.parse_int_range("revision", revision, low=0, high=MAX_REVISION)

        async def work(transaction: Transaction) -> None:
            found = await _lock(transaction, named)
            there = [each.revision for each in found.revisions]
            if not revision or there == [revision]:
                await effect.drop(transaction, found.id)
            elif revision not in there:
                raise errors.NotFound("SECRET", f"{found.name} in revision {revision}")
            elif revision == found.latest:
                sentence = "is the newest one; remove the whole secret, or give it another revision first"
                raise errors.IllegalTransition(f"secret {found.name}", f"revision {revision} {sentence}")
            else:
                await effect.drop_revisions(transaction, found.id, [revision])
                await store.update(transaction, found.id, label=None, description=None, latest=found.latest)

        await self._database.write(work, actor=actor)

    async def grant(self, namespace: str, name: str, application: str, *, is_granted: bool, actor: str) -> Secret:
        """Let the units of an application read a user's secret, or revoke that.

        Raises `errors.IllegalTransition` for a secret that is not a user's, and an application that is being removed.
        """
        named = _named(namespace, name)
        names.parse_application("application", application)

        async def work(transaction: Transaction) -> Secret:
            locked = (await applications.lock(transaction, named.namespace, [application])).get(application)
            if locked is None:
                raise deploying.missing(named.namespace, application)
            found = await _lock(transaction, named)
            if is_granted:
                deploying.check_alive(locked)
                transaction.changed = await store.grant(transaction, found.id, locked.id)
            else:
                transaction.changed = await store.revoke(transaction, found.id, locked.id)
            return await _found(transaction, found.id)

        try:
            return (await self._database.write(work, actor=actor)).value
        except LookAgain as error:
            raise deploying.missing(named.namespace, application) from error

    async def get(self, namespace: str, name: str) -> Secret:
        """Return a secret without its content."""
        named = _named(namespace, name)
        found = await store.find(self._database.fetch, named.namespace, named.name)
        if found is None:
            raise _missing(named)
        return found

    async def list_of(self, namespace: str, owner: str) -> AsyncGenerator[Secret, None]:
        """Yield secrets by namespace, owner and name. Empty filters mean all; with an owner, the default namespace."""
        if namespace or owner:
            namespace = namespaces.parse_namespace("namespace", namespace)
        if owner:
            (names.parse_unit if "/" in owner else names.parse_application)("owner", owner)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(store.list_all(connection, namespace, owner)) as secrets,
        ):
            async for each in secrets:
                yield each

    async def reveal(self, namespace: str, name: str, *, revision: int) -> tuple[int, Mapping[str, str]]:
        """Return a revision of a secret, 0 for the newest, with its content. Raises `errors.SecretsDisabled`."""
        parse.parse_int_range("revision", revision, low=0, high=MAX_REVISION)
        found = await self.get(namespace, name)
        wanted = revision or found.latest
        if wanted not in [each.revision for each in found.revisions]:
            raise errors.NotFound("SECRET", f"{found.name} in revision {wanted}")

        async def work(connection: AsyncConnection) -> Mapping[str, str]:
            return await sealed.get(self._sealing, connection, found.id, wanted)

        return wanted, await self._database.read(work)

    async def _add_revision(
        self, transaction: Transaction, secret_id: str, revision: int, content: Mapping[str, str]
    ) -> None:
        await effect.add_revision(transaction, secret_id, revision, None)
        await sealed.put(self._sealing, transaction.connection, secret_id, revision, content)


def _checked(new: New) -> New:
    checks = check.Checks()
    secret_id = checks.take(parse.parse_uuid, "id", new.id) if new.id else ""
    namespace = checks.take(namespaces.parse_namespace, "namespace", new.namespace)
    _check_texts(checks, new.label, new.description)
    checks.take(secret.parse_content, "content", new.content)
    checks.finish()
    return dataclasses.replace(new, id=secret_id, namespace=namespace)


def _check_texts(checks: check.Checks, label: str | None, description: str | None) -> None:
    if label is not None:
        checks.take(secret.parse_label, "label", label)
    if description is not None:
        checks.take(parse_description, "description", description)


def _named(namespace: str, name: str) -> Named:
    checks = check.Checks()
    found = Named(
        checks.take(namespaces.parse_namespace, "namespace", namespace),
        checks.take(parse.parse_text, "name", name, max_bytes=_MAX_NAME_BYTES),
    )
    checks.finish()
    return found


async def _lock(transaction: Transaction, named: Named) -> Secret:
    """Lock a user's secret. Raises `errors.NotFound`, and `errors.IllegalTransition` for a secret of another owner."""
    found = await store.lock(transaction, named.namespace, named.name)
    if found is None:
        raise _missing(named)
    if found.owner:
        raise errors.IllegalTransition(
            f"secret {found.name}", f"it belongs to {found.owner}, and its charm alone changes it"
        )
    return found


async def _check_label(transaction: Transaction, namespace: str, label: str) -> None:
    if label and (other := await store.labelled(transaction, namespace, label)):
        raise errors.AlreadyExists("label", label, taken_by=f"secret {other}", advice="choose another one")


def _missing(named: Named) -> errors.NotFound:
    where = "" if named.namespace == namespaces.DEFAULT_NAMESPACE else f" of namespace {named.namespace}"
    return errors.NotFound("SECRET", f"{named.name}{where}")


async def _found(transaction: Transaction, secret_id: str) -> Secret:
    found = await store.find_by_id(transaction.fetch, secret_id)
    assert found is not None
    return found
