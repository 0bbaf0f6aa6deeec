"""Decides which units an agent serves, and which units an event of the log concerns."""

import dataclasses
from collections.abc import Collection, Sequence

import asyncpg

from tinkwell.server.database.database import Fetch

_COLUMNS = """
    SELECT CAST(u.id AS text) AS unit_id, u.namespace, a.name AS application, c.kind, a.charm, u.charm AS unit_charm,
           coalesce(CAST(u.machine_id AS text), '') AS machine, u.is_anywhere,
           coalesce(CAST(l.id AS text), '') AS lease_id, coalesce(l.engine, '') AS engine
      FROM unit u
      JOIN application a ON a.id = u.application_id
      JOIN charm c ON c.digest = a.charm
      LEFT JOIN lease l ON l.id = u.lease_id AND l.expires_at > clock_timestamp()
"""
SERVED = f"""
    {_COLUMNS}
     WHERE (u.machine_id = ANY ($1::text[]::uuid[]) OR u.is_anywhere AND $2)
     ORDER BY u.namespace, a.name, u.number
"""
# No event of the log reports that the lease of a unit's agent is over.
ABANDONED = f"{_COLUMNS} WHERE u.lease_id IS NOT NULL AND l.id IS NULL AND u.life <> 'DEAD'"
# A change in a relation concerns the other end, and also the own application if siblings see each other.
TOUCHED = f"""
    WITH touched AS (
        SELECT unnest($1::text[])::uuid AS id
        UNION SELECT u.id FROM unnest($2::text[], $3::text[]) AS given (application_id, name)
               JOIN unit u ON u.application_id = given.application_id::uuid AND u.name = given.name
        UNION SELECT u.id FROM unit u WHERE u.application_id = ANY ($4::text[]::uuid[])
        UNION SELECT u.id FROM relation_end mine
               JOIN relation_end other ON other.relation_id = mine.relation_id
               JOIN unit u ON u.application_id = other.application_id
              WHERE mine.application_id = ANY ($5::text[]::uuid[])
        UNION SELECT u.id FROM unnest($6::text[], $7::bigint[]) AS given (application_id, number)
               JOIN relation_end mine ON mine.application_id = given.application_id::uuid
               JOIN relation r ON r.id = mine.relation_id AND r.number = given.number
               JOIN relation_end other ON other.relation_id = r.id
               JOIN application a ON a.id = other.application_id
               JOIN unit u ON u.application_id = a.id
              WHERE r.is_peer OR a.id <> mine.application_id OR a.profile = 'LITERAL'
        UNION SELECT u.id FROM unnest($8::text[], $9::text[]) AS given (relation_id, owner)
               JOIN relation r ON r.id = given.relation_id::uuid
               JOIN relation_end other ON other.relation_id = r.id
               JOIN application a ON a.id = other.application_id
               JOIN unit u ON u.application_id = a.id
              WHERE given.owner = '' OR r.is_peer OR a.name <> given.owner OR a.profile = 'LITERAL'
        UNION SELECT u.id FROM action x JOIN unit u ON u.machine_id = x.worker_id
              WHERE x.workflow_id = ANY ($10::text[]::uuid[])
        UNION SELECT k.unit_id FROM secret_reader k WHERE k.secret_id = ANY ($11::text[]::uuid[])
        UNION SELECT u.id FROM secret s
               JOIN unit u ON u.application_id = s.application_id AND (s.unit_id IS NULL OR s.unit_id = u.id)
              WHERE s.id = ANY ($11::text[]::uuid[])
    )
    {_COLUMNS}
      JOIN touched ON touched.id = u.id
"""  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A unit that may have something due.

    `lease_id` is the live lease that holds it, and `engine` that lease's engine, empty for none. `charm` is the digest
    of its application's charm, and `unit_charm` of the charm that it runs, empty before the first.
    """

    unit_id: str
    namespace: str
    application: str
    kind: str
    charm: str
    unit_charm: str
    machine: str
    is_anywhere: bool
    lease_id: str
    engine: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What an agent serves under its lease. Empty `charms` and `applications` stand for all."""

    lease_id: str
    engine: str
    kinds: frozenset[str]
    machines: frozenset[str] = frozenset()
    is_anywhere: bool = False
    charms: frozenset[str] = frozenset()
    namespace: str = ""
    applications: frozenset[str] = frozenset()

    def has(self, unit: Found) -> bool:
        """Return whether the agent may be given the unit's events."""
        return (
            (unit.machine in self.machines if unit.machine else unit.is_anywhere and self.is_anywhere)
            and unit.kind in self.kinds
            and self.namespace in ("", unit.namespace)
            and (not self.applications or unit.application in self.applications)
            and (not self.charms or not self.charms.isdisjoint((unit.charm, unit.unit_charm)))
            and (unit.lease_id in ("", self.lease_id) or unit.engine == self.engine)
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Concerned:
    """What events concern, by ids.

    `named` are units by application and name. `related` are applications that concern all units related to them.
    `in_relations` are applications, each with the number of a relation in which a unit of it has changed something.
    `relations` are relations, each with the name of the application that has changed something there, empty if both
    ends are concerned. `workflows` have ended, and concern the units on their machines. `secrets` concern their owners
    and readers.
    """

    units: Collection[str] = ()
    named: Collection[tuple[str, str]] = ()
    applications: Collection[str] = ()
    related: Collection[str] = ()
    in_relations: Collection[tuple[str, int]] = ()
    relations: Collection[tuple[str, str]] = ()
    workflows: Collection[str] = ()
    secrets: Collection[str] = ()


async def served(fetch: Fetch, serving: Serving) -> list[Found]:
    """Return the units that an agent may be given, by name."""
    rows = await fetch(SERVED, list(serving.machines), serving.is_anywhere)
    return [unit for unit in map(_found, rows) if serving.has(unit)]


async def abandoned(fetch: Fetch) -> list[Found]:
    """Return the units whose agent's lease is over."""
    return [_found(row) for row in await fetch(ABANDONED)]


async def touched(fetch: Fetch, concerned: Concerned) -> list[Found]:
    """Return the units that events concern."""
    rows = await fetch(
        TOUCHED,
        list(concerned.units),
        *_columns(concerned.named),
        list(concerned.applications),
        list(concerned.related),
        *_columns(concerned.in_relations),
        *_columns(concerned.relations),
        list(concerned.workflows),
        list(concerned.secrets),
    )
    return [_found(row) for row in rows]


def _columns(pairs: Collection[tuple[object, object]]) -> tuple[Sequence[object], Sequence[object]]:
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _found(row: asyncpg.Record) -> Found:
    return Found(**dict(row) | {"unit_charm": row["unit_charm"] or ""})
