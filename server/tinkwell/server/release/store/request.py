"""Operations that are being asked for: each is one row, and moves its release, or makes it."""

import dataclasses

from tinkwell.core.release import record
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.value.document import JsonObject
from tinkwell.server.database.database import Transaction
from tinkwell.server.release.store import row

FIND = """
    SELECT r.namespace = $2 AND r.name = $3 AND o.request = $4::text::jsonb AND o.options = $5::text::jsonb
           AND o.reason = $6 AS is_same, CAST(o.source AS text) AS source
      FROM operation o JOIN release r ON r.id = o.release_id
     WHERE o.id = $1::text::uuid
"""
_INSERT_RELEASE = """
    INSERT INTO release (id, namespace, name, operation_id, description)
    VALUES ($1::text::uuid, $2, $3, $4::text::uuid, $5)
        ON CONFLICT (namespace, name) WHERE deleted_at IS NULL DO NOTHING
    RETURNING id
"""
_MOVE_RELEASE = """
    UPDATE release
       SET state = $2::text, operation_id = $3::text::uuid, description = coalesce(nullif($4, ''), description)
     WHERE id = $1::text::uuid
"""
_INSERT = """
    INSERT INTO operation (id, release_id, revision, kind, request, options, source, former_state, rollback_of, reason,
                           deadline_at)
    VALUES ($1::text::uuid, $2::text::uuid, $3, $4::text, $5::text::jsonb, $6::text::jsonb, $7::text::json, $8::text,
            $9, $10, clock_timestamp() + make_interval(secs => $11::double precision))
        ON CONFLICT (id) DO NOTHING
    RETURNING id
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for an operation. `call` is JSON text that tells it from any other one of the same release.

    `source` is what is to be rendered, None for nothing. What stands at its JSON pointers `sensitive` is secret, and so
    are the texts `secrets`. An empty `description` leaves the release's.
    """

    operation_id: str
    namespace: str
    name: str
    call: str
    options: record.Options
    source: JsonObject | None
    description: str
    reason: str
    sensitive: tuple[str, ...] = ()
    secrets: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """An operation with the id of a request: whether all but its source is the same, and that as it is stored."""

    is_same: bool
    source: str | None


async def find(transaction: Transaction, asked: Asked) -> Found | None:
    """Return the operation that has the id of a request, None if there is none."""
    values = (asked.namespace, asked.name, asked.call, row.dump_options(asked.options), asked.reason)
    found = await transaction.fetch(FIND, asked.operation_id, *values)
    return Found(found[0]["is_same"], found[0]["source"]) if found else None


async def insert_release(transaction: Transaction, release_id: str, asked: Asked) -> bool:
    """Insert a release whose first operation is about to be inserted; False where the name is taken meanwhile."""
    values = (release_id, asked.namespace, asked.name, asked.operation_id, asked.description)
    return bool(await transaction.fetch(_INSERT_RELEASE, *values))


async def move_release(transaction: Transaction, release_id: str, asked: Asked, begun: Begun) -> None:
    """Have a release that is locked be changed by an operation that is about to be inserted."""
    await transaction.fetch(_MOVE_RELEASE, release_id, begun.release_state, asked.operation_id, asked.description)


async def insert(transaction: Transaction, release_id: str, asked: Asked, begun: Begun, *, source: str | None) -> bool:
    """Insert an operation, PENDING, with its source as it is to be stored; False where there is one of its id."""
    found = await transaction.fetch(
        _INSERT,
        asked.operation_id,
        release_id,
        begun.revision,
        begun.kind,
        asked.call,
        row.dump_options(asked.options),
        source,
        begun.former_state,
        begun.rollback_of,
        asked.reason,
        float(asked.options.timeout_seconds),
    )
    return bool(found)
