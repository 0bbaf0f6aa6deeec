"""What the handler of an event leaves behind.

A unit's own rows are written under its lock, and the bag of an application under the application's.
"""

from collections.abc import Mapping, Sequence

from tinkwell.core.unit.effect import Notice, Port
from tinkwell.core.unit.kinds import Owner
from tinkwell.server.database.database import Transaction

# The version is counted by a trigger, if anything has changed.
_EDIT_BAG = """
    WITH about AS (
        SELECT r.id AS relation_id, CASE WHEN $3 THEN a.name ELSE u.name END AS owner
          FROM unit u
          JOIN application a ON a.id = u.application_id
          JOIN relation r ON r.namespace = u.namespace AND r.number = $2
         WHERE u.id = $1::text::uuid
    ), former AS (
        SELECT b.version FROM relation_bag b JOIN about USING (relation_id, owner)
    )
    INSERT INTO relation_bag AS b (relation_id, owner, data)
    SELECT relation_id, owner, jsonb_object($4::text[], $5::text[]) FROM about
        ON CONFLICT (relation_id, owner) DO UPDATE SET data = (b.data || excluded.data) - $6::text[]
    RETURNING version <> coalesce((SELECT version FROM former), 0) AS is_changed
"""
_EDIT_STATE = """
    INSERT INTO unit_state AS s (unit_id, data) VALUES ($1::text::uuid, jsonb_object($2::text[], $3::text[]))
        ON CONFLICT (unit_id) DO UPDATE SET data = (s.data || excluded.data) - $4::text[]
"""
_OPEN = """
    INSERT INTO port (unit_id, protocol, number)
    SELECT $1::text::uuid, given.protocol, given.number
      FROM unnest($2::text[], $3::integer[]) AS given (protocol, number)
        ON CONFLICT DO NOTHING
"""
_CLOSE = """
    DELETE FROM port p USING unnest($2::text[], $3::integer[]) AS given (protocol, number)
     WHERE p.unit_id = $1::text::uuid AND p.protocol = given.protocol AND p.number = given.number
"""
_DEFER = """
    INSERT INTO deferred_notice (unit_id, ordinal, handler, event)
    SELECT $1::text::uuid, given.ordinal, given.handler, given.event
      FROM unnest($2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY AS given (ordinal, handler, event, place)
     ORDER BY given.place
        ON CONFLICT (unit_id, handler, md5(event)) DO NOTHING
    RETURNING id
"""
_CONSUME = """
    DELETE FROM deferred_notice d USING unnest($2::text[], $3::text[]) AS given (handler, event)
     WHERE d.unit_id = $1::text::uuid AND d.handler = given.handler AND d.event = given.event
    RETURNING d.id
"""
# All that wait are tried each time: who is still there after a commit was deferred again.
_COUNT_TRIES = "UPDATE deferred_notice SET attempts = attempts + 1 WHERE unit_id = $1::text::uuid AND id <= $2"
_LAST_NOTICE = "SELECT coalesce(max(id), 0) AS id FROM deferred_notice WHERE unit_id = $1::text::uuid"
_ADD_STORAGES = """
    WITH numbers AS (
        UPDATE namespace n SET next_storage = n.next_storage + $3
          FROM unit u WHERE u.id = $1::text::uuid AND n.name = u.namespace
        RETURNING n.next_storage - $3 AS first
    )
    INSERT INTO storage (namespace, name, kind, number, application_id, unit_id, unit, machine_id)
    SELECT u.namespace, concat($2::text, '/', number), $2::text, number, u.application_id, u.id, u.name, u.machine_id
      FROM unit u, numbers, generate_series(numbers.first, numbers.first + $3 - 1) AS number
     WHERE u.id = $1::text::uuid
     ORDER BY number
    RETURNING name
"""


async def edit_bag(
    transaction: Transaction, unit_id: str, relation: int, owner: Owner, edits: Mapping[str, str | None]
) -> bool:
    """Change a bag of a unit, or of its application; return whether that made it another one."""
    is_application = owner is Owner.APPLICATION
    found = await transaction.fetch(_EDIT_BAG, unit_id, relation, is_application, *_edits(edits))
    return bool(found) and found[0]["is_changed"]


async def edit_state(transaction: Transaction, unit_id: str, edits: Mapping[str, str | None]) -> None:
    """Change what a unit's charm keeps."""
    await transaction.fetch(_EDIT_STATE, unit_id, *_edits(edits))


async def change_ports(
    transaction: Transaction, unit_id: str, *, opened: Sequence[Port], closed: Sequence[Port]
) -> None:
    """Record which ports a unit has closed, and then which it has opened."""
    for statement, ports in ((_CLOSE, closed), (_OPEN, opened)):
        if ports:
            values = [port.protocol for port in ports], [port.number for port in ports]
            await transaction.fetch(statement, unit_id, *values)


async def change_notices(
    transaction: Transaction, unit_id: str, *, deferred: Sequence[Notice], consumed: Sequence[Notice]
) -> tuple[int, int]:
    """Take away notices that were heard, and add new ones behind those that wait; return how many were added and taken.

    One that is equal to a waiting one is not added. All that waited and stay have been tried once more.
    """
    last = (await transaction.fetch(_LAST_NOTICE, unit_id))[0]["id"]
    taken: Sequence[object] = ()
    added: Sequence[object] = ()
    if consumed:
        handlers, events = [each.handler for each in consumed], [each.event for each in consumed]
        taken = await transaction.fetch(_CONSUME, unit_id, handlers, events)
    if last:
        await transaction.fetch(_COUNT_TRIES, unit_id, last)
    if deferred:
        ordinals = [each.ordinal for each in deferred]
        handlers, events = [each.handler for each in deferred], [each.event for each in deferred]
        added = await transaction.fetch(_DEFER, unit_id, ordinals, handlers, events)
    return len(added), len(taken)


async def add_storages(transaction: Transaction, unit_id: str, kind: str, count: int) -> list[str]:
    """Allot new storages of a kind to a unit, and return their names."""
    return [row["name"] for row in await transaction.fetch(_ADD_STORAGES, unit_id, kind, count)]


def _edits(edits: Mapping[str, str | None]) -> tuple[list[str], list[str], list[str]]:
    """Return the keys and values that are set, and the keys that are taken away."""
    kept = {key: value for key, value in edits.items() if value is not None}
    return list(kept), list(kept.values()), [key for key, value in edits.items() if value is None]
