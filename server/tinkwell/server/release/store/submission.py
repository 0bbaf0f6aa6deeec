"""The stored plan and documents that a submitted plan is compared with, and the nodes that it creates."""

from collections.abc import Sequence

from tinkwell.core.release.record import Node
from tinkwell.server.database import offload
from tinkwell.server.database.database import Transaction
from tinkwell.server.release.store import row
from tinkwell.server.release.store.change import Documents

_PLAN = "SELECT CAST(plan AS text) AS plan FROM operation WHERE id = $1::text::uuid"
# Documents that differ only in the order of keys or the spelling of numbers are equal. A rollback has the documents of
# its revision.
IS_DEPLOYED = """
    SELECT v.source::text::jsonb - 'strict' = coalesce(o.source, former.source)::text::jsonb - 'strict'
           AND v.manifest::text::jsonb = coalesce($2::text::jsonb, former.manifest::text::jsonb)
           AND v.late::text::jsonb = coalesce($3::text::jsonb, former.late::text::jsonb) AS is_same
      FROM operation o
      JOIN release_revision v ON v.release_id = o.release_id AND v.state = 'DEPLOYED'
      LEFT JOIN release_revision former ON former.release_id = o.release_id AND former.revision = o.rollback_of
     WHERE o.id = $1::text::uuid
"""
_NODES = f"SELECT {row.NODE} FROM node n WHERE n.operation_id = $1::text::uuid ORDER BY n.ordinal"  # noqa: S608


async def plan(transaction: Transaction, operation_id: str) -> str:
    """Return the stored plan of an operation, empty for none."""
    [found] = await transaction.fetch(_PLAN, operation_id)
    return found["plan"] or ""


async def is_deployed(transaction: Transaction, operation_id: str, documents: Documents) -> bool:
    """Return whether the documents of an operation equal those of the DEPLOYED revision of its release."""
    found = await transaction.fetch(IS_DEPLOYED, operation_id, documents.manifest, documents.late)
    return bool(found and found[0]["is_same"])


async def nodes(transaction: Transaction, operation_id: str) -> Sequence[Node]:
    """Return the nodes of an operation's plan in order."""
    return await offload.each(row.node, await transaction.fetch(_NODES, operation_id))
