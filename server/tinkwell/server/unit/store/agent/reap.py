"""Finds and deletes unused rows: DEAD units, DYING relations without members, DYING applications without units.

Each row is deleted in a transaction of its own. A first statement locks the row. This waits for transactions that are
about to refer to it, because they hold its key; later ones find no row. So a condition that holds when the row is
locked still holds when the row is deleted, together with its dependent rows.
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
    """A kind of row that may be reaped, and the statements that find, lock and delete it."""

    find: str
    lock: str
    deletes: tuple[str, ...]


# A unit's bags are deleted with it, and so are the storages that it does not keep.
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
# An application's peer relations live as long as the application.
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
    """Return the ids of the rows of a kind that may be reaped."""
    return [row["id"] for row in await fetch(kind.find)]


async def reap(transaction: Transaction, kind: Kind, id_: str) -> None:
    """Delete a row, unless it is needed again or was deleted already.

    Raises `LookAgain` if another row refers to it.
    """
    with look_again():
        if await transaction.fetch(kind.lock, id_):
            for statement in kind.deletes:
                await transaction.fetch(statement, id_)
