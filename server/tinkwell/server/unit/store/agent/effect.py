"""Writes the effects of an event: bags, state, ports and notices.

The unit is locked, and its application if the effects need that. A bag is still as it was read, because only its unit,
or the leader of its application, writes it, under that lock.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from tinkwell.core.unit.effect import Notice, Port
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.agent.own import StoredNotice

_WRITE_BAG = """
    INSERT INTO relation_bag AS b (relation_id, owner, data)
    SELECT r.id, $3, $4::text::jsonb FROM relation r WHERE r.namespace = $1 AND r.number = $2
        ON CONFLICT (relation_id, owner) DO UPDATE SET data = excluded.data WHERE b.data <> excluded.data
"""
_WRITE_STATE = """
    INSERT INTO unit_state AS s (unit_id, data) VALUES ($1::text::uuid, $2::text::jsonb)
        ON CONFLICT (unit_id) DO UPDATE SET data = excluded.data
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
_DROP_NOTICES = "DELETE FROM deferred_notice WHERE unit_id = $1::text::uuid AND key = ANY ($2::text[])"
# Every event retries each notice once, and the notices that are left were deferred again.
_TRIED = "UPDATE deferred_notice SET attempts = attempts + 1 WHERE unit_id = $1::text::uuid"
_ADD_NOTICES = """
    INSERT INTO deferred_notice (unit_id, key, ordinal, event, handler)
    SELECT $1::text::uuid, given.key, given.ordinal, given.event::json, given.handler
      FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[])
           WITH ORDINALITY AS given (key, ordinal, event, handler, place)
     ORDER BY given.place
        ON CONFLICT (unit_id, key) DO NOTHING
    RETURNING id
"""

Bags = Mapping[tuple[int, str], Mapping[str, str]]
"""What is said in relations of a namespace, by the number of the relation and the owner."""


def key(notice: Notice | StoredNotice) -> str:
    """Return the fields that equal notices of a unit have in common."""
    return hashlib.sha256(f"{notice.handler}\0{notice.event}".encode()).hexdigest()


async def write_bags(transaction: Transaction, namespace: str, written: Bags) -> None:
    """Write complete bags, in the order of their relations. A bag whose content is unchanged keeps its version."""
    rows = [(namespace, number, owner, json.dumps(dict(data))) for (number, owner), data in sorted(written.items())]
    if rows:
        await transaction.execute_each(_WRITE_BAG, rows)


async def write_state(transaction: Transaction, unit_id: str, data: Mapping[str, str]) -> None:
    """Write the complete state of a unit's charm."""
    await transaction.fetch(_WRITE_STATE, unit_id, json.dumps(dict(data)))


async def write_ports(
    transaction: Transaction, unit_id: str, *, opened: Sequence[Port], closed: Sequence[Port]
) -> None:
    """Close and open ports. A port that is closed or open already stays so."""
    for statement, ports in ((_CLOSE, closed), (_OPEN, opened)):
        if ports:
            await transaction.fetch(
                statement, unit_id, [each.protocol for each in ports], [each.number for each in ports]
            )


async def write_notices(
    transaction: Transaction, unit_id: str, *, consumed: Sequence[Notice], deferred: Sequence[Notice]
) -> int:
    """Drop, count and add notices in this order. Return how many are new: a notice that equals a waiting one is not."""
    if consumed:
        await transaction.fetch(_DROP_NOTICES, unit_id, [key(each) for each in consumed])
    await transaction.fetch(_TRIED, unit_id)
    if not deferred:
        return 0
    columns = (
        [key(each) for each in deferred],
        [each.ordinal for each in deferred],
        [each.event for each in deferred],
        [each.handler for each in deferred],
    )
    return len(await transaction.fetch(_ADD_NOTICES, unit_id, *columns))
