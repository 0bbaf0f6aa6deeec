"""Operations that are being requested: each is one row, and changes its release or creates it."""

import dataclasses

from tinkwell.core.release import record
from tinkwell.core.release.transition.operation import Begun
from tinkwell.core.value.document import JsonObject
from tinkwell.server.database.database import Fetch, Transaction
from tinkwell.server.release.store import row

FIND = """
    SELECT r.namespace = $2 AND r.name = $3 AND o.request = $4::text::jsonb AND o.options = $5::text::jsonb
           AND o.reason = $6 AS is_same, CAST(o.source AS text) AS source
      FROM operation o JOIN release r ON r.id = o.release_id
     WHERE o.id = $1::text::uuid
"""
# The release that an operation was begun on, and the revision whose values it has taken over.
FIND_FORMER = """
    SELECT CAST(release_id AS text) AS release_id, coalesce(CAST(request ->> 'former' AS integer), 0) AS former
      FROM operation WHERE id = $1::text::uuid
"""
FIND_PLAN = """
    SELECT r.namespace, r.name, coalesce(o.request ->> 'description', '') AS description,
           CAST(c.id AS text) AS chart_id, c.name AS chart_name, c.chart_version
      FROM operation o JOIN release r ON r.id = o.release_id LEFT JOIN chart c ON c.id = o.chart_id
     WHERE o.id = $1::text::uuid
"""
_INSERT_RELEASE = """
    INSERT INTO release (id, namespace, name, operation_id, description, chart_name, chart_version, state)
    VALUES ($1::text::uuid, $2, $3, $4::text::uuid, $5, $6, $7, $8::text)
        ON CONFLICT (namespace, name) WHERE deleted_at IS NULL DO NOTHING
    RETURNING id
"""
_MOVE_RELEASE = """
    UPDATE release
       SET state = $2::text, operation_id = $3::text::uuid, description = coalesce(nullif($4, ''), description),
           chart_name = CASE latest_revision WHEN 0 THEN $5 ELSE chart_name END,
           chart_version = CASE latest_revision WHEN 0 THEN $6 ELSE chart_version END
     WHERE id = $1::text::uuid
"""
_INSERT = """
    INSERT INTO operation (id, release_id, revision, kind, request, options, source, former_state, rollback_of, reason,
                           chart_id, plan_of, deadline_at)
    VALUES ($1::text::uuid, $2::text::uuid, $3, $4::text, $5::text::jsonb, $6::text::jsonb, $7::text::json, $8::text,
            $9, $10, $11::text::uuid, $12::text::uuid,
            clock_timestamp() + make_interval(secs => $13::double precision))
        ON CONFLICT (id) DO NOTHING
    RETURNING id
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedChart:
    """A chart by its id in the database, with its name and version."""

    id: str
    name: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request for an operation.

    `call` is JSON text that distinguishes it from other requests about the same release. `source` is what has to be
    rendered, None for nothing. The values at its JSON pointers `sensitive` are secret, and so are the texts `secrets`.
    An empty `description` leaves the release's. `chart` is None for manifests alone, and for what is stored. `plan_of`
    is the plan that is applied, empty for none.
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
    chart: NamedChart | None = None
    plan_of: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """An operation with the id of a request: whether all but its source is the same, and its source as it is stored."""

    is_same: bool
    source: str | None


async def find(transaction: Transaction, asked: Asked) -> Found | None:
    """Return the operation with the id of a request, or None if there is none."""
    values = (asked.namespace, asked.name, asked.call, row.dump_options(asked.options), asked.reason)
    found = await transaction.fetch(FIND, asked.operation_id, *values)
    return Found(found[0]["is_same"], found[0]["source"]) if found else None


@dataclasses.dataclass(frozen=True, slots=True)
class Former:
    """What an operation was begun on: a release, and the revision whose values it has taken over, 0 for none."""

    release_id: str
    former: int


async def find_former(fetch: Fetch, operation_id: str) -> Former | None:
    """Return what an operation was begun on, or None if there is no such operation."""
    found = await fetch(FIND_FORMER, operation_id)
    return Former(found[0]["release_id"], found[0]["former"]) if found else None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The request of a plan. `chart` is as in `Asked`."""

    namespace: str
    name: str
    description: str
    chart: NamedChart | None


async def find_plan(transaction: Transaction, operation_id: str) -> Plan | None:
    """Return the request of a plan without source and options, or None if there is no such operation."""
    found = await transaction.fetch(FIND_PLAN, operation_id)
    if not found:
        return None
    id_, name, version = (found[0][key] for key in ("chart_id", "chart_name", "chart_version"))
    return Plan(
        namespace=found[0]["namespace"],
        name=found[0]["name"],
        description=found[0]["description"],
        chart=NamedChart(id=id_, name=name, version=version) if id_ is not None else None,
    )


async def insert_release(transaction: Transaction, release_id: str, asked: Asked, begun: Begun) -> bool:
    """Insert a release just before its first operation. Return False if the name was taken in the meantime."""
    shown = (asked.description, *_shown(asked))
    values = (release_id, asked.namespace, asked.name, asked.operation_id, *shown, begun.release_state)
    return bool(await transaction.fetch(_INSERT_RELEASE, *values))


async def move_release(transaction: Transaction, release_id: str, asked: Asked, begun: Begun) -> None:
    """Update a locked release just before an operation that changes it is inserted."""
    values = (begun.release_state, asked.operation_id, asked.description, *_shown(asked))
    await transaction.fetch(_MOVE_RELEASE, release_id, *values)


async def insert(transaction: Transaction, release_id: str, asked: Asked, begun: Begun, *, source: str | None) -> bool:
    """Insert a PENDING operation, with its source in the stored form. Return False if the id is taken."""
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
        asked.chart.id if asked.chart is not None else None,
        asked.plan_of or begun.plan_of or None,
        float(asked.options.timeout_seconds),
    )
    return bool(found)


def _shown(asked: Asked) -> tuple[str, str]:
    """Return the chart name and version that a release shows while it has no revision."""
    return (asked.chart.name, asked.chart.version) if asked.chart is not None else ("", "")
