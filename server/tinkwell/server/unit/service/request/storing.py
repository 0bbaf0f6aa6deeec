"""Implements Attach, Detach and RemoveStorage."""

import re

from tinkwell.core import errors
from tinkwell.core.charm import reader
from tinkwell.core.charm.reader import MAX_INSTANCES
from tinkwell.core.charm.record import Manifest
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import Life
from tinkwell.core.unit.record import Storage, Unit
from tinkwell.core.value import parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import namespace as namespace_store
from tinkwell.server.unit.store.request import storage, unit

_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")


class Storing:
    """Attaches, detaches and removes storage."""

    def __init__(self, database: Database, charms: Charms) -> None:
        self._database = database
        self._charms = charms

    async def attach(self, namespace: str, unit_name: str, storage_name: str, *, actor: str) -> Storage:
        """Give a unit a new instance of a storage of its charm, or a detached instance of its machine.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` if the unit or the instance is
        not free for it.
        """
        named = requests.parse_unit(namespace, unit_name)
        kind, _, number = storage_name.partition("/")
        if number:
            parse_storage("storage", storage_name)
        else:
            reader.parse_endpoint_name("storage", storage_name)

        async def work(transaction: Transaction) -> Storage:
            application = names.application_of(named.name)
            locked = (await applications.lock(transaction, named.namespace, [application])).get(application)
            found = await unit.lock(transaction, named.namespace, named.name)
            if locked is None or found is None:
                raise missing(named.name)
            if found.life is not Life.ALIVE:
                raise errors.IllegalTransition(f"unit {named.name}", "it is being removed, and gets no more storage")
            manifest = (await self._charms.find(locked.charm, transaction.fetch)).manifest
            await _check_room(transaction, found, kind, manifest)
            if number:
                name = await _reuse(transaction, found, storage_name)
            else:
                taken = await namespace_store.take_storages(transaction, named.namespace, 1)
                await storage.insert(transaction, [storage.NewStorage(found.id, kind, taken)])
                name = f"{kind}/{taken}"
            given = await storage.find(transaction.fetch, named.namespace, name)
            assert given is not None
            return given

        return (await self._database.write(work, actor=actor)).value

    async def detach(self, namespace: str, storage_name: str, *, actor: str) -> Storage:
        """Take a storage instance from its unit, which is told first. The instance stays on its machine.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` if no unit has it, or if the
        charm needs it.
        """
        namespace = namespaces.parse_namespace("namespace", namespace)
        parse_storage("storage", storage_name)

        async def work(transaction: Transaction) -> Storage:
            before = await storage.find(transaction.fetch, namespace, storage_name)
            if before is None:
                raise errors.NotFound("STORAGE", storage_name)
            owner = await unit.lock(transaction, namespace, before.unit) if before.unit else None
            found = await storage.lock(transaction, namespace, storage_name)
            if found is None:
                raise errors.NotFound("STORAGE", storage_name)
            if owner is None or found.unit != owner.name:
                raise errors.IllegalTransition(f"storage {storage_name}", "no unit has it; there is nothing to detach")
            transaction.changed = found.life is Life.ALIVE
            if found.life is Life.ALIVE:
                await self._check_minimum(transaction, namespace, owner, storage_name)
                await _take(transaction, owner, found, actor)
            return await storage.find(transaction.fetch, namespace, storage_name) or found

        return (await self._database.write(work, actor=actor)).value

    async def remove(self, namespace: str, storage_name: str, *, actor: str) -> Storage:
        """Delete a storage instance that no unit has, and return it as it was. Its agent deletes its files.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.IllegalTransition` if a unit has it.
        """
        namespace = namespaces.parse_namespace("namespace", namespace)
        parse_storage("storage", storage_name)

        async def work(transaction: Transaction) -> Storage:
            found = await storage.lock(transaction, namespace, storage_name)
            if found is None:
                raise errors.NotFound("STORAGE", storage_name)
            if found.unit:
                raise errors.IllegalTransition(f"storage {storage_name}", f"unit {found.unit} has it; detach it first")
            await storage.drop(transaction, found.id)
            return found

        return (await self._database.write(work, actor=actor)).value

    async def _check_minimum(self, transaction: Transaction, namespace: str, owner: Unit, storage_name: str) -> None:
        kind = storage_name.partition("/")[0]
        application = await applications.find(transaction.fetch, namespace, names.application_of(owner.name))
        assert application is not None
        manifest = (await self._charms.find(application.charm, transaction.fetch)).manifest
        declared = manifest.storages.get(kind)
        if declared and await storage.count_of_unit(transaction, owner.id, kind) <= declared.minimum:
            needed = "one" if declared.minimum == 1 else f"{declared.minimum:,} of them"
            sentence = f"the charm needs {needed} in each unit; remove {owner.name} with its storage kept instead"
            raise errors.IllegalTransition(f"storage {storage_name}", sentence)


def parse_storage(field: str, text: str) -> str:
    """Check the name of a storage instance. Raises `errors.InvalidField`."""
    kind, slash, number = text.partition("/")
    if not slash or not _NUMBER.fullmatch(number):
        raise errors.InvalidField.of(field, f"{parse.show(text)} is no storage instance; write it as data/0")
    reader.parse_endpoint_name(field, kind)
    return text


async def _check_room(transaction: Transaction, found: Unit, kind: str, manifest: Manifest) -> None:
    declared = manifest.storages.get(kind)
    if declared is None:
        advice = nearest(kind, [*manifest.storages])
        raise errors.InvalidField.of("storage", f"the charm has no storage {parse.show(kind)}; {advice}")
    most = MAX_INSTANCES if declared.maximum is None else declared.maximum
    if await storage.count_of_unit(transaction, found.id, kind) >= most:
        has = "one" if most == 1 else f"{most:,}"
        sentence = f"it has {has} of {kind} already, which is all that its charm allows; detach one first"
        raise errors.IllegalTransition(f"unit {found.name}", sentence)


async def _reuse(transaction: Transaction, found: Unit, name: str) -> str:
    """Give a unit a detached storage instance, and return its name."""
    detached = await storage.lock(transaction, found.namespace, name)
    if detached is None:
        raise errors.NotFound("STORAGE", name)
    if detached.unit:
        raise errors.IllegalTransition(f"storage {name}", f"unit {detached.unit} has it; detach it first")
    if not found.machine or detached.machine != found.machine:
        where = f"on machine {detached.machine}" if detached.machine else "on no machine"
        raise errors.IllegalTransition(f"storage {name}", f"it is {where}, where {found.name} is not")
    await storage.give(transaction, detached.id, found.id)
    return name


async def _take(transaction: Transaction, owner: Unit, found: Storage, actor: str) -> None:
    """Tell a unit that it loses a storage instance. An instance that it was never told of is freed at once."""
    event = owner.event
    is_being_told = event is not None and event.storage == found.name
    if found.is_attached or is_being_told:
        await storage.take_away(transaction, found.id, actor=actor)
    else:
        await storage.free(transaction, found.id, actor=actor)
