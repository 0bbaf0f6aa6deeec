"""Applications, units and relations as rows, for tests of what is stored, and turns of units as a server takes them."""

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import asyncpg

from tinkwell.core.unit.kinds import EventState, Life, Verdict
from tinkwell.core.unit.ledger import Written
from tinkwell.core.unit.resolver import change, resolve, sight
from tinkwell.core.unit.resolver.advance import advance
from tinkwell.core.unit.resolver.verdict import verdict
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store import delivery

T = TypeVar("T")

DIGEST = "sha256:" + "0" * 64
_CHARM = """
    INSERT INTO charm (digest, name, kind, manifest, endpoints, storages, size)
    VALUES ($1, 'any', 'SCRIPTS', '{}', $2, $3, 0)
        ON CONFLICT (digest) DO NOTHING
"""
_APPLICATION = """
    INSERT INTO application (namespace, name, charm, profile) VALUES ($1, $2, $3, $4) RETURNING id::text AS id
"""
_UNIT = """
    WITH next AS (
        UPDATE application SET next_number = next_number + 1 WHERE namespace = $1 AND name = $2 AND life = 'ALIVE'
        RETURNING id, next_number - 1 AS number
    )
    INSERT INTO unit (namespace, application_id, number, name, is_anywhere)
    SELECT $1, id, number, concat($2::text, '/', number), true FROM next
    RETURNING id::text AS id
"""
_RELATION = """
    WITH next AS (
        UPDATE namespace SET next_relation = next_relation + 1 WHERE name = $1 RETURNING next_relation - 1 AS number
    ), made AS (
        INSERT INTO relation (namespace, number, interface, is_peer, ends)
        SELECT $1, number, 'any', $3, $2::text::jsonb FROM next RETURNING id, number
    ), ends AS (
        INSERT INTO relation_end (relation_id, application_id, endpoint)
        SELECT made.id, a.id, given.endpoint
          FROM made, jsonb_to_recordset($2::text::jsonb) AS given (application text, endpoint text)
          JOIN application a ON a.namespace = $1 AND a.name = given.application
    )
    SELECT number FROM made
"""
_STORAGE = """
    WITH next AS (
        UPDATE namespace SET next_storage = next_storage + 1 WHERE name = $1 RETURNING next_storage - 1 AS number
    )
    INSERT INTO storage (namespace, name, kind, number, application_id, unit_id, unit)
    SELECT $1, concat($3::text, '/', next.number), $3, next.number, u.application_id, u.id, u.name
      FROM unit u, next WHERE u.id = $2::text::uuid
    RETURNING name
"""
_EDIT_BAG = """
    INSERT INTO relation_bag AS b (relation_id, owner, data)
    SELECT id, $3, $4::text::jsonb FROM relation WHERE namespace = $1 AND number = $2
        ON CONFLICT (relation_id, owner) DO UPDATE SET data = excluded.data WHERE b.data <> excluded.data
    RETURNING owner
"""
_APPLICATION_OF = "SELECT CAST(application_id AS text) AS id FROM unit WHERE id = $1::text::uuid"
_TRIES = 20


@dataclasses.dataclass(slots=True)
class Rows:
    """Writes rows as psql does, and takes units through their events as an agent without faults would."""

    sql: asyncpg.Connection
    database: Database
    namespace: str = "default"

    async def prepare(
        self, *, endpoints: tuple[str, ...] = ("db", "cluster"), storages: tuple[str, ...] = ("data",)
    ) -> None:
        """Make the namespace, and the charm that all applications have."""
        await self.sql.execute("INSERT INTO namespace (name) VALUES ($1)", self.namespace)
        await self.sql.execute(_CHARM, DIGEST, list(endpoints), list(storages))

    async def application(self, name: str, *, profile: str = "LITERAL") -> str:
        """Make an application without units, and return its id."""
        found: str = await self.sql.fetchval(_APPLICATION, self.namespace, name, DIGEST, profile)
        return found

    async def unit(self, application: str) -> str:
        """Add a unit, and return its id; empty where the application is not there any more."""
        return await self.sql.fetchval(_UNIT, self.namespace, application) or ""

    async def relate(self, *ends: tuple[str, str]) -> int:
        """Make a relation of (application, endpoint), or a peer relation of one, and return its number."""
        text = json.dumps([{"application": application, "endpoint": endpoint} for application, endpoint in ends])
        found: int = await self.sql.fetchval(_RELATION, self.namespace, text, len(ends) == 1)
        return found

    async def storage(self, unit_id: str, kind: str = "data") -> str:
        """Allot a storage to a unit, and return its name."""
        found: str = await self.sql.fetchval(_STORAGE, self.namespace, unit_id, kind)
        return found

    async def load(self, unit_id: str) -> delivery.Loaded:
        """Return what a unit's next event is decided on."""
        loaded = await delivery.load(self.database.fetch, unit_id)
        assert loaded is not None
        return loaded

    async def locked(self, unit_id: str, work: Callable[["Turn"], Awaitable[T]]) -> T | None:
        """Work on a unit under its lock, and again if what it refers to has gone; None if there is no such unit."""

        async def once(transaction: Transaction) -> T | None:
            # Nobody asks for the revision of the last event, if there is one.
            transaction.changed = False
            found = await transaction.fetch(_APPLICATION_OF, unit_id)
            if not found or not await delivery.lock_application(transaction, found[0]["id"]):
                return None
            if not await delivery.lock_unit(transaction, unit_id):
                return None
            return await work(Turn(transaction, unit_id))

        for _ in range(_TRIES):
            try:
                return (await self.database.write(once, actor="")).value
            except delivery.LookAgain:
                continue
        raise AssertionError("what it refers to goes each time")

    async def step(self, unit_id: str, bags: Mapping[int, Mapping[str, str]] | None = None) -> UnitEvent | None:
        """Grant a unit's next event and commit it, with edits of its own bags; None if nothing is due."""

        async def work(turn: "Turn") -> UnitEvent | None:
            event = await turn.grant()
            if event is not None:
                await turn.commit(bags)
            return event

        return await self.locked(unit_id, work)

    async def settle(self, *unit_ids: str) -> dict[str, list[str]]:
        """Take units through their events, one each in turn, until nothing is due; return the names of each one's."""
        told: dict[str, list[str]] = {unit_id: [] for unit_id in unit_ids}
        is_busy = True
        while is_busy:
            is_busy = False
            for unit_id in unit_ids:
                if (event := await self.step(unit_id)) is not None:
                    told[unit_id].append(f"{event.name} {event.unit}".strip())
                    is_busy = True
        return told


@dataclasses.dataclass(slots=True)
class Turn:
    """A unit that is locked, after its application."""

    transaction: Transaction
    unit_id: str

    async def load(self) -> delivery.Loaded:
        loaded = await delivery.load(self.transaction.fetch, self.unit_id)
        assert loaded is not None
        return loaded

    async def grant(self) -> UnitEvent | None:
        """Grant the next event if none is in flight; a unit that is owed nothing and dying ends."""
        loaded = await self.load()
        event = resolve.next_event(loaded.ledger, loaded.view) if loaded.in_flight is None else None
        if event is None:
            if loaded.in_flight is None and resolve.is_owed_nothing(loaded.ledger, loaded.view):
                await delivery.apply(self.transaction, self.unit_id, change.ended(loaded.view))
            return None
        await delivery.apply(self.transaction, self.unit_id, change.granted(event, loaded.view))
        await self._write(loaded, event, EventState.RUNNING)
        return event

    async def commit(self, bags: Mapping[int, Mapping[str, str]] | None = None) -> None:
        """Commit what is in flight, with what the unit says in relations from now on."""
        loaded = await self.load()
        flight = loaded.in_flight
        assert flight is not None
        if flight.event.relation:
            await delivery.lock_relation(self.transaction, loaded.unit.namespace, flight.event.relation)
            loaded = await self.load()
        own = set()
        for number, edits in (bags or {}).items():
            values = (loaded.unit.namespace, number, loaded.unit.name, json.dumps(edits))
            if await self.transaction.fetch(_EDIT_BAG, *values):
                own.add(number)
        await delivery.end_event(self.transaction, flight.id, EventState.COMMITTED)
        await self._pass(loaded, flight.event, Written(own=frozenset(own)))

    async def allot(self, kind: str = "data") -> None:
        """Allot a storage to the unit, if it lives."""
        loaded = await self.load()
        if loaded.view.life is Life.ALIVE:
            await self.transaction.fetch(_STORAGE, loaded.unit.namespace, self.unit_id, kind)

    async def fail(self) -> None:
        """Let what is in flight have failed."""
        flight = (await self.load()).in_flight
        assert flight is not None
        await delivery.end_event(self.transaction, flight.id, EventState.ERROR, message="no", retry_in_seconds=1.0)

    async def judge(self) -> None:
        """Do to an event that failed what the verdict says."""
        loaded = await self.load()
        flight = loaded.in_flight
        assert flight is not None
        match verdict(flight.event, loaded.ledger, loaded.view):
            case Verdict.RETRY:
                event = sight.sighted(flight.event, loaded.view, has_failed=True)
                await delivery.apply(self.transaction, self.unit_id, change.granted(event, loaded.view))
                await delivery.retry_event(self.transaction, flight.id, event, lease_token=0, timeout_seconds=60)
            case Verdict.WITHDRAW:
                await delivery.end_event(self.transaction, flight.id, EventState.WITHDRAWN)
                await delivery.apply(self.transaction, self.unit_id, change.withdrawn(flight.event))
            case Verdict.SKIP:
                await self._skip(loaded, flight)

    async def force(self) -> None:
        """End the unit whatever it is owed."""
        loaded = await self.load()
        if loaded.in_flight is not None:
            await delivery.end_event(self.transaction, loaded.in_flight.id, EventState.ABANDONED)
        await self.transaction.fetch("UPDATE unit SET is_forced = true WHERE id = $1::text::uuid", self.unit_id)
        await delivery.apply(self.transaction, self.unit_id, change.ended(loaded.view))

    async def _skip(self, loaded: delivery.Loaded, flight: delivery.EventRow) -> None:
        """Leave an event out, and with it what had to follow at once."""
        await delivery.end_event(self.transaction, flight.id, EventState.SKIPPED)
        await self._pass(loaded, flight.event, Written())
        while (rest := await self.load()).ledger.queue:
            event = sight.sighted(rest.ledger.queue[0], rest.view)
            await self._write(rest, event, EventState.SKIPPED)
            await self._pass(rest, event, Written())

    async def _write(self, loaded: delivery.Loaded, event: UnitEvent, state: EventState) -> None:
        relation = loaded.view.relations.get(event.relation)
        is_peer = relation is not None and relation.is_peer
        new = delivery.NewEvent(event=event, state=state, is_peer=is_peer, phase=loaded.view.phase, timeout_seconds=60)
        await delivery.write_event(self.transaction, self.unit_id, new)

    async def _pass(self, loaded: delivery.Loaded, event: UnitEvent, written: Written) -> None:
        after = advance(loaded.ledger, event, loaded.view, written)
        await delivery.save(self.transaction, self.unit_id, loaded.ledger, after)
        await delivery.apply(self.transaction, self.unit_id, change.committed(event, loaded.view))
