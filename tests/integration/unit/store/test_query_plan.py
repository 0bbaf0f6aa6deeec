"""The queries that every turn of a unit runs find their rows by an index."""

import uuid

import asyncpg

from support.unit_plan import FILL, TABLES, indexes
from tinkwell.core.unit.kinds import Owner
from tinkwell.core.unit.resolver.change import Detach, LetGo, Refer
from tinkwell.server.unit.store.delivery import change, event, lock, state, told
from tinkwell.server.unit.store.secret import asking as secret_asking
from tinkwell.server.unit.store.secret import effect, own, view
from tinkwell.server.unit.store.secret import reading as secret_reading
from tinkwell.server.unit.store.task import asking, running

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
            *("secret_unit", "secret_application", "secret_reader_unit", "secret_reader_pkey", "secret_revision_pkey"),
            *("task_pending", "task_active"),
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
    "secret told": (told.SECRETS, (ID, "a" * 20, 1, 1, [], []), {"unit_pkey", "secret_name"}),
    "rotate": (change.ROTATE, (ID, "a" * 20), {"unit_pkey", "secret_name"}),
    "secrets of a unit": (own.OWN, (ID,), {"secret_unit", "secret_reader_unit", "secret_revision_pkey"}),
    "secrets that are due": (view.DUE_IN, (ID,), {"secret_unit", "secret_reader_unit", "secret_revision_pkey"}),
    "lock secrets": (effect.LOCK, ("n1", ["a" * 20]), {"secret_name"}),
    "find secrets": (effect.FIND, (ID, ["a" * 20]), {"secret_name", "secret_reader_pkey"}),
    "labels": (effect.LABELS, (ID,), {"secret_label", "secret_reader_label"}),
    "secrets that a unit owns": (effect.COUNT[Owner.UNIT], (ID,), {"secret_unit"}),
    "secrets that an application owns": (effect.COUNT[Owner.APPLICATION], (ID,), {"unit_pkey", "secret_application"}),
    "secrets of users": (secret_asking.COUNT, ("n1",), {"secret_name"}),
    "read a secret": (secret_reading.READ, (ID, 1, "a" * 20, "", 0), {"unit_event_pkey", "task_pkey", "secret_name"}),
    "task": (asking.FIND, (ID,), {"task_pkey"}),
    "tasks that wait": (asking.COUNT_PENDING, (ID,), {"task_pending"}),
    "forget tasks": (asking.FORGET, (ID, 1000), {"task_unit"}),
    "lines of a task": (asking.LINES, (ID, 1000), {"task_line_pkey"}),
    "grant a task": (running.GRANT, (ID, "", 1), {"task_pkey"}),
    "end a task": (running.END, (ID, "FAILED", "{}", ""), {"task_pkey"}),
    "tasks past their time": (running.OVERDUE, (30.0, 100), {"task_deadline"}),
    "end tasks": (running.END_ALL, ([ID],), {"task_unit"}),
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
