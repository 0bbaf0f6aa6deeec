"""Reads applications and all that belongs to them, and the events, deferred notices and logs of units."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import ALIASES, EventKind, Life
from tinkwell.core.unit.record import Application, Event, Notice, Relation, Storage, Unit
from tinkwell.core.unit.resolver.resolve import awaits_leader, next_event
from tinkwell.core.value import check, parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.server.database.database import Database
from tinkwell.server.unit.service.request import deploying
from tinkwell.server.unit.service.request import request as requests
from tinkwell.server.unit.service.request.removing import missing
from tinkwell.server.unit.store import delivery
from tinkwell.server.unit.store.request import application as applications
from tinkwell.server.unit.store.request import event as events
from tinkwell.server.unit.store.request import relation, storage, unit

_MAX_KINDS = 100

R = TypeVar("R")


class Reading:
    """Finds and lists.

    Methods that take names raise `errors.InvalidField`, and `errors.NotFound` if there is nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def application(self, application_id: str, namespace: str, name: str) -> Application:
        """Return an application by its id, or by its namespace and name."""
        if application_id:
            application_id = parse.parse_uuid("id", application_id)
            found = await applications.find_by_id(self._database.fetch, application_id)
            if found is None:
                raise errors.NotFound("APPLICATION", application_id)
            return found
        named = requests.parse_application(namespace, name, field="name")
        found = await applications.find(self._database.fetch, named.namespace, named.name)
        if found is None:
            raise deploying.missing(named.namespace, named.name)
        return found

    async def unit(self, unit_id: str, namespace: str, name: str) -> Unit:
        """Return a unit by its id, or by its namespace and name."""
        if not unit_id:
            return await self._unit(namespace, name)
        unit_id = parse.parse_uuid("id", unit_id)
        found = await unit.find_by_id(self._database.fetch, unit_id)
        if found is None:
            raise missing(unit_id)
        return found

    async def relation(self, namespace: str, number: int, *, with_bags: bool) -> Relation:
        """Return a relation, with its bags if `with_bags`."""
        namespace = namespaces.parse_namespace("namespace", namespace)
        parse.parse_int_range("number", number, low=1, high=2**63 - 1)
        found = await relation.find(self._database.fetch, namespace, number)
        if found is None:
            raise errors.NotFound("RELATION", str(number))
        if not with_bags:
            return found
        return dataclasses.replace(found, bags=await relation.list_bags(self._database.fetch, found.id))

    async def list_applications(self, namespace: str) -> AsyncGenerator[Application, None]:
        """Yield the applications of a namespace, or of all if it is empty, by namespace and name."""
        namespace, _ = _filters(namespace, "")
        async with contextlib.aclosing(
            self._snapshot(lambda connection: applications.list_all(connection, namespace))
        ) as found:
            async for each in found:
                yield each

    async def list_units(
        self, namespace: str, application: str, *, with_settled: bool = False
    ) -> AsyncGenerator[Unit, None]:
        """Yield units by namespace, application and number. With `with_settled`, check each for due events."""
        where = _filters(namespace, application)
        async with contextlib.aclosing(self._snapshot(lambda connection: unit.list_all(connection, *where))) as found:
            async for each in found:
                yield dataclasses.replace(each, is_settled=await self._is_settled(each)) if with_settled else each

    async def list_relations(self, namespace: str, application: str) -> AsyncGenerator[Relation, None]:
        """Yield relations by namespace and number, without their bags."""
        where = _filters(namespace, application)
        async with contextlib.aclosing(
            self._snapshot(lambda connection: relation.list_all(connection, *where))
        ) as found:
            async for each in found:
                yield each

    async def list_storages(self, namespace: str, application: str) -> AsyncGenerator[Storage, None]:
        """Yield storage instances by namespace and name."""
        where = _filters(namespace, application)
        async with contextlib.aclosing(
            self._snapshot(lambda connection: storage.list_all(connection, *where))
        ) as found:
            async for each in found:
                yield each

    async def list_events(
        self, namespace: str, name: str, *, kinds: Sequence[str], count: int
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a unit, newest first, of some kinds or all; at most `limit`, 0 for all."""
        wanted = _parse_kinds(kinds)
        most = parse.parse_int_range("limit", count, low=0, high=2**31 - 1) or 2**31 - 1
        found = await self._unit(namespace, name)
        async with contextlib.aclosing(
            self._snapshot(lambda connection: events.list_events(connection, found.id, kinds=wanted, limit=most))
        ) as listed:
            async for each in listed:
                yield each

    async def list_deferred(self, namespace: str, name: str) -> Sequence[Notice]:
        """Return the notices that a unit's charm has deferred, in the order in which they are retried."""
        found = await self._unit(namespace, name)
        return await events.list_notices(self._database.fetch, found.id)

    async def _is_settled(self, found: Unit) -> bool:
        loaded = await delivery.load(self._database.fetch, found.id)
        if loaded is None or loaded.view.life is Life.DEAD:
            return True
        has_task = loaded.running_task or loaded.view.task
        if loaded.in_flight is not None or has_task or awaits_leader(loaded.ledger, loaded.view):
            return False
        is_led = bool(loaded.view.leader) or loaded.view.application_life is not Life.ALIVE
        return is_led and next_event(loaded.ledger, loaded.view) is None

    async def _unit(self, namespace: str, name: str) -> Unit:
        named = requests.parse_unit(namespace, name)
        found = await unit.find(self._database.fetch, named.namespace, named.name)
        if found is None:
            raise missing(named.name)
        return found

    async def _snapshot(self, read: Callable[[AsyncConnection], AsyncGenerator[R, None]]) -> AsyncGenerator[R, None]:
        async with self._database.snapshot() as connection, contextlib.aclosing(read(connection)) as found:
            async for each in found:
                yield each


def _filters(namespace: str, application: str) -> tuple[str, str]:
    """Check the filters of a list. An application without a namespace is in the default namespace."""
    checks = check.Checks()
    if namespace or application:
        namespace = checks.take(namespaces.parse_namespace, "namespace", namespace)
    if application:
        checks.take(names.parse_application, "application", application)
    checks.finish()
    return namespace, application


def _parse_kinds(kinds: Sequence[str]) -> Sequence[str]:
    known = [kind.value for kind in EventKind]
    checks = check.Checks()
    if len(kinds) > _MAX_KINDS:
        checks.refuse("kinds", f"has {len(kinds):,} entries; at most {_MAX_KINDS} are allowed")
    found = []
    for index, kind in enumerate(kinds[:_MAX_KINDS]):
        if kind not in known and kind not in ALIASES:
            path = parse.child("kinds", index)
            checks.refuse(path, f"{parse.show(kind)} is no kind of event; {nearest(kind, known)}")
        found.append(ALIASES[kind].value if kind in ALIASES else kind)
    checks.finish()
    return found
