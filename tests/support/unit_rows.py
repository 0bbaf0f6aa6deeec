"""Applications, units and relations as rows, for tests of what is stored, and events of units, done at once."""

import dataclasses
import json
from collections.abc import Mapping

import asyncpg

from tinkwell.core.unit import change, resolve
from tinkwell.core.unit.advance import advance
from tinkwell.core.unit.kinds import EventState
from tinkwell.core.unit.ledger import Written
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store import delivery

DIGEST = "sha256:" + "0" * 64
_CHARM = """
    INSERT INTO charm (digest, name, kind, manifest, endpoints, storages, size)
    VALUES ($1, 'any', 'SCRIPTS', '{}', $2, $3, 0)
"""
_APPLICATION = """
    INSERT INTO application (namespace, name, charm, profile) VALUES ('default', $1, $2, $3) RETURNING id::text AS id
"""
_UNIT = """
    WITH next AS (
        UPDATE application SET next_number = next_number + 1 WHERE namespace = 'default' AND name = $1
        RETURNING id, next_number - 1 AS number
    )
    INSERT INTO unit (namespace, application_id, number, name, is_anywhere)
    SELECT 'default', id, number, $1 || '/' || number, true FROM next
    RETURNING id::text AS id, name
"""
_RELATION = """
    WITH next AS (
        UPDATE namespace SET next_relation = next_relation + 1 WHERE name = 'default'
        RETURNING next_relation - 1 AS number
    ), made AS (
        INSERT INTO relation (namespace, number, interface, is_peer, ends)
        SELECT 'default', number, 'any', $2, $1::text::jsonb FROM next RETURNING id, number
    ), ends AS (
        INSERT INTO relation_end (relation_id, application_id, endpoint)
        SELECT made.id, a.id, given.endpoint
          FROM made, jsonb_to_recordset($1::text::jsonb) AS given (application text, endpoint text)
          JOIN application a ON a.namespace = 'default' AND a.name = given.application
    )
    SELECT number FROM made
"""
_STORAGE = """
    WITH next AS (
        UPDATE namespace SET next_storage = next_storage + 1 WHERE name = 'default' RETURNING next_storage - 1 AS number
    )
    INSERT INTO storage (namespace, name, kind, number, application_id, unit_id, unit)
    SELECT 'default', $2 || '/' || next.number, $2, next.number, u.application_id, u.id, u.name
      FROM unit u, next WHERE u.id = $1::text::uuid
    RETURNING name
"""
_EDIT_BAG = """
    INSERT INTO relation_bag AS b (relation_id, owner, data)
    SELECT id, $2, $3::text::jsonb FROM relation WHERE namespace = 'default' AND number = $1
        ON CONFLICT (relation_id, owner) DO UPDATE SET data = excluded.data WHERE b.data <> excluded.data
    RETURNING owner
"""


@dataclasses.dataclass(slots=True)
class Rows:
    """Writes rows as psql does, and takes units through their events as an agent without faults would."""

    sql: asyncpg.Connection
    database: Database

    async def prepare(
        self, *, endpoints: tuple[str, ...] = ("db", "cluster"), storages: tuple[str, ...] = ("data",)
    ) -> None:
        """Make the namespace, and the charm that all applications have."""
        await self.sql.execute("INSERT INTO namespace (name) VALUES ('default')")
        await self.sql.execute(_CHARM, DIGEST, list(endpoints), list(storages))

    async def application(self, name: str, *, profile: str = "LITERAL") -> str:
        """Make an application without units, and return its id."""
        found: str = await self.sql.fetchval(_APPLICATION, name, DIGEST, profile)
        return found

    async def unit(self, application: str) -> str:
        """Add a unit, and return its id."""
        found: str = await self.sql.fetchval(_UNIT, application)
        return found

    async def relate(self, *ends: tuple[str, str]) -> int:
        """Make a relation of (application, endpoint), or a peer relation of one, and return its number."""
        text = json.dumps([{"application": application, "endpoint": endpoint} for application, endpoint in ends])
        found: int = await self.sql.fetchval(_RELATION, text, len(ends) == 1)
        return found

    async def storage(self, unit_id: str, kind: str = "data") -> str:
        """Allot a storage to a unit, and return its name."""
        found: str = await self.sql.fetchval(_STORAGE, unit_id, kind)
        return found

    async def load(self, unit_id: str) -> delivery.Loaded:
        """Return what a unit's next event is decided on."""
        loaded = await delivery.load(self.database.fetch, unit_id)
        assert loaded is not None
        return loaded

    async def step(self, unit_id: str, bags: Mapping[int, Mapping[str, str]] | None = None) -> UnitEvent | None:
        """Grant a unit's next event and commit it, with edits of its own bags; None if nothing is due."""
        application_id = (await self.load(unit_id)).application.id

        async def work(transaction: Transaction) -> UnitEvent | None:
            await delivery.lock_application(transaction, application_id)
            await delivery.lock_unit(transaction, unit_id)
            loaded = await delivery.load(transaction.fetch, unit_id)
            assert loaded is not None
            event = resolve.next_event(loaded.ledger, loaded.view)
            if event is None:
                return None
            if event.relation:
                await delivery.lock_relation(transaction, loaded.unit.namespace, event.relation)
            event_id, _ = await delivery.write_event(
                transaction, unit_id, delivery.NewEvent(event=event, phase=loaded.view.phase, timeout_seconds=60)
            )
            await delivery.apply(transaction, unit_id, change.granted(event, loaded.view))
            granted = await delivery.load(transaction.fetch, unit_id)
            assert granted is not None
            assert granted.in_flight is not None
            assert granted.in_flight.event == event
            own = set()
            for number, edits in (bags or {}).items():
                if await transaction.fetch(_EDIT_BAG, number, loaded.unit.name, json.dumps(edits)):
                    own.add(number)
            await delivery.end_event(transaction, event_id, EventState.COMMITTED)
            after = advance(granted.ledger, event, granted.view, Written(own=frozenset(own)))
            await delivery.save(transaction, unit_id, granted.ledger, after)
            await delivery.apply(transaction, unit_id, change.committed(event, granted.view))
            return event

        return (await self.database.write(work, actor="")).value

    async def settle(self, *unit_ids: str) -> dict[str, list[str]]:
        """Take units through their events, one each in turn, until nothing is due; return the names of each one's."""
        told: dict[str, list[str]] = {unit_id: [] for unit_id in unit_ids}
        is_busy = True
        while is_busy:
            is_busy = False
            for unit_id in unit_ids:
                if await self.sql.fetchval("SELECT life FROM unit WHERE id = $1::text::uuid", unit_id) == "DEAD":
                    continue
                if (event := await self.step(unit_id)) is not None:
                    told[unit_id].append(f"{event.name} {event.unit}".strip())
                    is_busy = True
        return told
