"""What a plan that is being submitted is compared with, and the nodes that come of it."""

from collections.abc import Sequence

from tinkwell.core.release.record import Node
from tinkwell.server.database import offload
from tinkwell.server.database.database import Transaction
from tinkwell.server.release.store import row
from tinkwell.server.release.store.change import Documents

_PLAN = "SELECT CAST(plan AS text) AS plan FROM operation WHERE id = $1::text::uuid"
# What differs in the order of keys, or the spelling of numbers, is the same. A rollback brings what its revision has.
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
    """Return the plan that an operation has already; empty for none."""
    [found] = await transaction.fetch(_PLAN, operation_id)
    return found["plan"] or ""


async def is_deployed(transaction: Transaction, operation_id: str, documents: Documents) -> bool:
    """Return whether what an operation brings about is what the DEPLOYED revision of its release has."""
    found = await transaction.fetch(IS_DEPLOYED, operation_id, documents.manifest, documents.late)
    return bool(found and found[0]["is_same"])


async def nodes(transaction: Transaction, operation_id: str) -> Sequence[Node]:
    """Return the nodes of an operation's plan in order."""
    return await offload.each(row.node, await transaction.fetch(_NODES, operation_id))
