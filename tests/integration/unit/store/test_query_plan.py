"""The queries that every turn of a unit runs find their rows by an index."""

import uuid

import asyncpg

from support.unit_plan import FILL, TABLES, indexes
from tinkwell.core.unit.resolver.change import Detach, LetGo, Refer
from tinkwell.server.unit.store.delivery import change, event, lock, state, told

ID = str(uuid.UUID(int=1))
MEMBER = (ID, 1, "web/1")
HOT: dict[str, tuple[str, tuple[object, ...], set[str]]] = {
    "application": (lock.APPLICATION, (ID,), {"application_pkey"}),
    "unit": (lock.UNIT, (ID,), {"unit_pkey"}),
    "relation": (lock.RELATION, ("n1", 1), {"relation_number"}),
    "load": (
        state.LOAD,
        (ID,),
        {
            *("unit_pkey", "application_pkey", "charm_digest", "namespace_name", "unit_event_active", "storage_unit"),
            *("relation_end_application", "unit_number", "relation_member_pkey", "relation_bag_pkey"),
            *("unit_relation_pkey", "unit_member_pkey", "relation_pkey", "machine_hold_pkey"),
        },
    ),
    "end": (event.END, (ID, "COMMITTED", "", False, None, 0, 0), {"unit_event_pkey"}),
    "retry": (event.RETRY, (ID, 1, False, 1.0, 1, "", 1, 1, 1), {"unit_event_pkey"}),
    "forget": (event.FORGET, (ID, 100), {"unit_event_ordinal"}),
    "forget lines": (event.FORGET_LINES, (ID, 100), set()),
    "told": (told.ATTACH, (ID, ["data/1"], ["data/1"]), {"storage_unit"}),
    "relation told": (told.RELATION, (ID, 1, True, False, 0, 0), {"unit_pkey", "relation_number"}),
    "members": (told.MEMBERS, (ID, 1, ["web/1"], [1], [False]), {"unit_name", "relation_number"}),
    "depart": (told.DEPART, (ID, 1, ["web/1"]), {"unit_name", "relation_number"}),
    "refer": (change.STATEMENTS[Refer][0], MEMBER, {"unit_name", "relation_number"}),
    "let go": (change.STATEMENTS[LetGo][0], MEMBER, {"unit_name", "relation_number"}),
    "detach": (change.STATEMENTS[Detach][1], (ID, "data/1"), {"storage_unit"}),
}


async def test_queries_go_by_their_indexes(sql: asyncpg.Connection) -> None:
    for table in (*TABLES, "machine_hold", "workflow"):
        await sql.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    await sql.execute(FILL)
    await sql.execute("ANALYZE")
    for name, (query, values, wanted) in HOT.items():
        found = indexes(await sql.fetchval(f"EXPLAIN (FORMAT JSON) {query}", *values))
        assert (name, wanted - found) == (name, set())
