"""What nothing needs any more: DEAD units, DYING relations that nobody is in, DYING applications without units.

Each is deleted in a transaction of its own. Its row is locked first, by a statement of its own: who is about to refer
to it holds its key, and is waited for; who comes later finds nothing to refer to. So what the condition says when the
lock is there still holds when the row is deleted, together with all that goes with it.
"""

import dataclasses

from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.unit.store.delivery.look_again import look_again

_UNIT_IS_DONE = "u.life = 'DEAD' AND NOT EXISTS (SELECT FROM unit_member m WHERE m.member_id = u.id)"
_RELATION_IS_DONE = """
    r.life <> 'ALIVE'
    AND NOT EXISTS (SELECT FROM relation_member m WHERE m.relation_id = r.id AND m.membership <> 'LEFT')
"""
_APPLICATION_IS_DONE = """
    a.life <> 'ALIVE' AND NOT EXISTS (SELECT FROM unit u WHERE u.application_id = a.id)
    AND NOT EXISTS (SELECT FROM relation_end e JOIN relation r ON r.id = e.relation_id
                     WHERE e.application_id = a.id AND NOT r.is_peer)
"""
FIND_UNITS = f"SELECT CAST(u.id AS text) AS id FROM unit u WHERE {_UNIT_IS_DONE} ORDER BY u.id"  # noqa: S608
FIND_RELATIONS = f"SELECT CAST(r.id AS text) AS id FROM relation r WHERE {_RELATION_IS_DONE} ORDER BY r.id"  # noqa: S608
FIND_APPLICATIONS = f"""
    SELECT CAST(a.id AS text) AS id FROM application a WHERE {_APPLICATION_IS_DONE} ORDER BY a.id
"""  # noqa: S608


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One kind of what may be reaped: how it is found, locked and deleted, in this order."""

    find: str
    lock: str
    deletes: tuple[str, ...]


# What a unit has said in relations goes with it, and so do the storages that it has not kept.
UNIT = Kind(
    FIND_UNITS,
    "SELECT id FROM unit WHERE id = $1::text::uuid FOR UPDATE",
    (
        f"""
        DELETE FROM relation_bag b USING unit u, relation_member m
         WHERE u.id = $1::text::uuid AND m.unit_id = u.id AND b.relation_id = m.relation_id AND b.owner = u.name
           AND {_UNIT_IS_DONE}
        """,  # noqa: S608
        f"DELETE FROM unit u WHERE u.id = $1::text::uuid AND {_UNIT_IS_DONE}",  # noqa: S608
    ),
)
RELATION = Kind(
    FIND_RELATIONS,
    "SELECT id FROM relation WHERE id = $1::text::uuid FOR UPDATE",
    (f"DELETE FROM relation r WHERE r.id = $1::text::uuid AND {_RELATION_IS_DONE}",),  # noqa: S608
)
# Its peer relations live as long as it does.
APPLICATION = Kind(
    FIND_APPLICATIONS,
    "SELECT id FROM application WHERE id = $1::text::uuid FOR UPDATE",
    (
        f"""
        DELETE FROM relation p USING relation_end e, application a
         WHERE p.is_peer AND e.relation_id = p.id AND a.id = e.application_id AND a.id = $1::text::uuid
           AND {_APPLICATION_IS_DONE}
        """,  # noqa: S608
        f"DELETE FROM application a WHERE a.id = $1::text::uuid AND {_APPLICATION_IS_DONE}",  # noqa: S608
    ),
)


async def find(fetch: Fetch, kind: Kind) -> list[str]:
    """Return the ids of what may be reaped of a kind."""
    return [row["id"] for row in await fetch(kind.find)]


async def reap(transaction: Transaction, kind: Kind, id_: str) -> None:
    """Delete it, unless it is needed again or somebody else was faster. Raises `LookAgain` where it is referred to."""
    with look_again():
        if await transaction.fetch(kind.lock, id_):
            for statement in kind.deletes:
                await transaction.fetch(statement, id_)
