"""What agents ask for all the time finds its rows by an index, however many units there are."""

import asyncpg

from support.unit_plan import FILL, TABLES, indexes
from tinkwell.server.unit.store.agent import hold, own, reading
from tinkwell.server.unit.store.delivery import looked

ID = "00000000-0000-0000-0000-000000000001"
HOT: dict[str, tuple[str, tuple[object, ...], set[str]]] = {
    "find": (hold.FIND, (ID,), {"unit_pkey", "application_pkey"}),
    "find event": (hold.FIND_EVENT, (ID,), {"unit_event_pkey", "unit_pkey", "application_pkey"}),
    "hold": (hold.HOLD, (ID, 1), {"unit_pkey", "application_pkey", "charm_digest", "lease_pkey"}),
    "own": (own.OWN, (ID,), {"unit_pkey", "application_pkey", "relation_member_unit", "relation_bag_pkey"}),
    "look": (
        looked.LOOK,
        (ID, 1),
        {"unit_event_active", "relation_end_application", "unit_relation_pkey", "relation_member_unit", "lease_pkey"},
    ),
    # From the event to its unit, or from the lease: both are by an index.
    "running": (reading.RUNS, (ID, 1), {"unit_event_pkey"}),
    "holds charm": (reading.HOLDS_CHARM, (ID, "sha256:0"), {"unit_lease"}),
    # The relation by its number, or from what the unit is a member of: PostgreSQL 15 prefers the latter.
    "bag": (reading.READ, (ID, 1, 1, "web/1"), {"unit_event_pkey", "relation_member_pkey"}),
}
_MORE = """
    INSERT INTO lease (owner, engine, expires_at) SELECT 'more ' || n, '', now() FROM generate_series(1, 2000) n;
    UPDATE unit u SET lease_id = l.id
      FROM (SELECT id, row_number() OVER () AS n FROM lease) l,
           (SELECT id, row_number() OVER () AS n FROM unit) m WHERE m.id = u.id AND m.n = l.n;
    INSERT INTO unit_agent (lease_id, kinds) SELECT id, '{}' FROM lease;
    INSERT INTO unit_state (unit_id) SELECT id FROM unit;
    INSERT INTO port (unit_id, protocol, number) SELECT id, 'tcp', 80 FROM unit;
    INSERT INTO hardware (id) SELECT gen_random_uuid() FROM generate_series(1, 1000);
    INSERT INTO hardware_address (hardware_id, ip)
    SELECT id, '10.0.0.0'::inet + row_number() OVER () FROM hardware
"""


async def test_queries_go_by_their_indexes(sql: asyncpg.Connection) -> None:
    for table in (*TABLES, "machine_hold", "workflow"):
        await sql.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    await sql.execute(FILL)
    await sql.execute(_MORE)
    await sql.execute("ANALYZE")
    for name, (query, values, wanted) in HOT.items():
        found = indexes(await sql.fetchval(f"EXPLAIN (FORMAT JSON) {query}", *values))
        assert (name, wanted - found) == (name, set())
