"""Implements Deploy and AddUnits: applications with peer relations, and units with machines and storages."""

import dataclasses
import heapq
import itertools
import uuid
from collections.abc import Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.charm import config, package
from tinkwell.core.charm.record import Manifest, Role, StoredCharm
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import limit
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import CharmKind, Life, Profile
from tinkwell.core.unit.record import Application, Unit
from tinkwell.core.value import check, document, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.charms import Charms
from tinkwell.server.unit.service.request.request import Deploy, Units
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import namespace as namespace_store
from tinkwell.server.unit.store.request import place, relation, storage, unit


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The application of the new units."""

    id: str
    namespace: str
    name: str
    charm: StoredCharm


class Deploying:
    """Creates applications and units."""

    def __init__(self, database: Database, charms: Charms) -> None:
        self._database = database
        self._charms = charms

    async def deploy(self, asked: Deploy, *, actor: str) -> Application:
        """Create an application with its units. A repeated request changes nothing.

        Raises `errors.InvalidField` for everything that is wrong, `errors.NotFound` for the charm or a machine,
        `errors.AlreadyExists`, and `errors.LimitReached` if it would have too many units for a peer relation.
        """
        asked = _checked(asked)
        charm = await self._charms.use(asked.charm)
        manifest = charm.manifest
        configured = config.edit(manifest.options, {}, requests.parse_config(asked.config), field="config")
        counts = requests.count_storages(asked.units, manifest)
        profile = _profile(asked, manifest)

        async def work(transaction: Transaction) -> Application:
            if (former := await _repeated(transaction, asked)) is not None:
                transaction.changed = False
                return former
            await namespace_store.ensure(transaction, asked.namespace)
            application_id = await applications.insert(
                transaction,
                application_id=asked.id,
                namespace=asked.namespace,
                name=asked.name,
                charm=charm.digest,
                profile=profile,
                config=document.dump_json(configured),
            )
            target = _Target(id=application_id, namespace=asked.namespace, name=asked.name, charm=charm)
            await _make_units(transaction, target, asked.units, counts)
            peers = [endpoint.name for endpoint in manifest.of_role(Role.PEER)]
            await make_peers(transaction, asked.namespace, application_id, asked.name, manifest, peers)
            await _check_members(transaction, target)
            made = await applications.find_by_id(transaction.fetch, application_id)
            assert made is not None
            return made

        return (await self._database.write(work, actor=actor)).value

    async def add_units(self, namespace: str, application: str, units: Units, *, actor: str) -> Sequence[Unit]:
        """Add units to an application. A repeated request with the same ids changes nothing.

        Raises what `deploy` raises, and `errors.IllegalTransition` for an application that is being removed.
        """
        named = requests.parse_application(namespace, application)
        checks = check.Checks(most=document.MAX_VIOLATIONS)
        units = requests.check_units(checks, units)
        if units.count < 1:
            checks.refuse("units", "is less than 1; say how many units to add")
        checks.finish()

        async def work(transaction: Transaction) -> Sequence[Unit]:
            locked = await lock_alive(transaction, named.namespace, named.name)
            if units.ids and (former := await unit.find_all(transaction.fetch, units.ids)):
                transaction.changed = False
                return _as_before(former, units.ids, locked.id)
            if locked.units + units.count > limit.UNITS_PER_APPLICATION:
                most = f"{limit.UNITS_PER_APPLICATION:,}"
                raise errors.LimitReached(f"{named.name} would have more than the {most} units that one may have")
            charm = await self._charms.find(locked.charm, transaction.fetch)
            target = _Target(id=locked.id, namespace=named.namespace, name=named.name, charm=charm)
            counts = requests.count_storages(units, charm.manifest)
            made = await _make_units(transaction, target, units, counts)
            await _check_members(transaction, target)
            return await unit.find_all(transaction.fetch, made)

        return (await self._database.write(work, actor=actor)).value


async def lock_alive(transaction: Transaction, namespace: str, name: str) -> applications.Locked:
    """Lock an application. Raises `errors.NotFound`, and `errors.IllegalTransition` if it is being removed."""
    locked = (await applications.lock(transaction, namespace, [name])).get(name)
    if locked is None:
        raise missing(namespace, name)
    check_alive(locked)
    return locked


def _profile(asked: Deploy, manifest: Manifest) -> Profile:
    """Return the profile of an application, which orders its events.

    Raises `errors.InvalidField` if its charm forbids it.
    """
    if manifest.kind is not CharmKind.OPS:
        return asked.profile or manifest.profile or Profile.LITERAL
    if asked.profile is Profile.LITERAL:
        sentence = "is LITERAL, and charms that were written for Juju need the events of Juju; leave it out"
        raise errors.InvalidField.of("profile", sentence)
    return Profile.JUJU


def check_alive(locked: applications.Locked) -> None:
    """Raise `errors.IllegalTransition` for an application that is being removed."""
    if locked.life is not Life.ALIVE:
        raise errors.IllegalTransition(f"application {locked.name}", "it is being removed; wait, and deploy it anew")


def missing(namespace: str, name: str) -> errors.NotFound:
    """Return the error for an application that does not exist."""
    where = "" if namespace == namespaces.DEFAULT_NAMESPACE else f" of namespace {namespace}"
    return errors.NotFound("APPLICATION", f"{name}{where}")


async def make_peers(
    transaction: Transaction,
    namespace: str,
    application_id: str,
    application: str,
    manifest: Manifest,
    endpoints: Sequence[str],
) -> None:
    """Create the peer relations of some endpoints."""
    if not endpoints:
        return
    first = await namespace_store.take_relations(transaction, namespace, len(endpoints))
    for number, endpoint in enumerate(endpoints, start=first):
        await relation.insert(
            transaction,
            namespace=namespace,
            number=number,
            interface=manifest.endpoints[endpoint].interface,
            ends=[relation.NewEnd(application_id, application, endpoint)],
        )


async def make_storages(
    transaction: Transaction, namespace: str, unit_ids: Sequence[str], counts: Mapping[str, int]
) -> None:
    """Allot `count` instances of each storage to each of the units."""
    wanted = [(unit_id, kind) for unit_id in unit_ids for kind, count in sorted(counts.items()) for _ in range(count)]
    if wanted:
        first = await namespace_store.take_storages(transaction, namespace, len(wanted))
        numbered = enumerate(wanted, start=first)
        await storage.insert(transaction, [storage.NewStorage(*each, number) for number, each in numbered])


def _checked(asked: Deploy) -> Deploy:
    checks = check.Checks(most=document.MAX_VIOLATIONS)
    found = dataclasses.replace(
        asked,
        id=asked.id and checks.take(parse.parse_uuid, "id", asked.id),
        namespace=checks.take(namespaces.parse_namespace, "namespace", asked.namespace),
        name=checks.take(names.parse_application, "name", asked.name),
        charm=checks.take(package.parse_digest, "charm", asked.charm),
        units=requests.check_units(checks, asked.units),
    )
    checks.finish()
    return found


async def _repeated(transaction: Transaction, asked: Deploy) -> Application | None:
    """Return the application that the first of repeated requests has created. Raises `errors.AlreadyExists`."""
    if asked.id and (former := await applications.find_by_id(transaction.fetch, asked.id)) is not None:
        if (former.namespace, former.name) != (asked.namespace, asked.name):
            raise errors.AlreadyExists("id", asked.id, taken_by=f"application {former.name}")
        return former
    if await applications.find(transaction.fetch, asked.namespace, asked.name) is not None:
        raise errors.AlreadyExists("name", asked.name, advice="give another name, or upgrade the application")
    return None


def _as_before(former: Sequence[Unit], ids: Sequence[str], application_id: str) -> Sequence[Unit]:
    """Return the units that the first of repeated requests has created.

    Raises `errors.AlreadyExists` for other units.
    """
    for found in former:
        if found.application_id != application_id or len(former) != len(ids):
            raise errors.AlreadyExists("id", found.id, taken_by=f"unit {found.name}")
    return former


async def _make_units(
    transaction: Transaction, target: _Target, units: Units, counts: Mapping[str, int]
) -> Sequence[str]:
    """Create units of a locked application, and return their ids."""
    if not units.count:
        return []
    machines = await _machines(transaction, target, units)
    first = await applications.take_numbers(transaction, target.id, units.count)
    ids = units.ids or [str(uuid.uuid4()) for _ in range(units.count)]
    new = [
        unit.NewUnit(id=unit_id, number=first + index, machine=machine)
        for index, (unit_id, machine) in enumerate(zip(ids, machines, strict=True))
    ]
    await unit.insert(
        transaction,
        new,
        namespace=target.namespace,
        application_id=target.id,
        application=target.name,
        is_anywhere=units.is_anywhere,
    )
    await make_storages(transaction, target.namespace, ids, counts)
    return ids


async def _machines(transaction: Transaction, target: _Target, units: Units) -> Sequence[str | None]:
    """Return a machine for each unit: the named machines first, then those with the fewest units.

    None stands for a unit that waits for an agent that serves it, or that belongs to no machine.
    """
    known = await place.hold_machines(transaction, set(units.machines))
    for index, machine in enumerate(units.machines):
        if machine not in known:
            raise errors.NotFound("HARDWARE", f"{machine} ({parse.child('machines', index)})")
    left = units.count - len(units.machines)
    if units.is_anywhere or not left:
        return [*units.machines, *itertools.repeat(None, left)]
    served = await place.served(
        transaction.fetch,
        kind=target.charm.manifest.kind.value,
        charm=target.charm.digest,
        namespace=target.namespace,
        application=target.name,
    )
    there = await place.hold_machines(transaction, served.keys())
    return [*units.machines, *spread({machine: served[machine] for machine in there}, units.machines, left)]


def spread(served: Mapping[str, int], named: Sequence[str], count: int) -> Sequence[str | None]:
    """Choose a machine for each of `count` units: the one with the fewest units, and among equals the least id."""
    taken = dict(served)
    for machine in named:
        if machine in taken:
            taken[machine] += 1
    heap = [(units, machine) for machine, units in taken.items()]
    if not heap:
        return [None] * count
    heapq.heapify(heap)
    found: list[str | None] = []
    for _ in range(count):
        units, machine = heap[0]
        found.append(machine)
        heapq.heapreplace(heap, (units + 1, machine))
    return found


async def _check_members(transaction: Transaction, target: _Target) -> None:
    if await relation.count_members(transaction, target.id) > limit.MEMBERS_PER_RELATION:
        most = f"{limit.MEMBERS_PER_RELATION:,}"
        raise errors.LimitReached(f"a relation of {target.name} would have more than {most} units, which one may have")
