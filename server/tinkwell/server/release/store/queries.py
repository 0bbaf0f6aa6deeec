"""Reads releases, their revisions, resources and operations. `change` writes them."""

import datetime
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, TypeAlias

import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.release import record
from tinkwell.core.release.kinds import PlanKind, ReleaseState
from tinkwell.core.release.plan import PlanNode
from tinkwell.server.database import offload
from tinkwell.server.database.database import Fetch
from tinkwell.server.release.store import row

# A row with documents may have several megabytes, so few rows are in memory at a time.
_CURSOR_ROWS = 4
_LISTED_ROWS = 500

_BY_NAME = "r.namespace = $1 AND r.name = $2 AND r.deleted_at IS NULL"
BY_ID = f"SELECT {row.RELEASE} FROM release r WHERE r.id = $1::text::uuid"  # noqa: S608
BY_NAME = f"SELECT {row.RELEASE} FROM release r WHERE {_BY_NAME}"  # noqa: S608
RESULT = "SELECT CAST(result AS text) AS result FROM operation WHERE id = $1::text::uuid"
OPERATION = f"SELECT {row.OPERATION} {row.FROM_OPERATION} WHERE o.id = $1::text::uuid"
# An operation that is due: no live lease holds it, and its deadline is past or it was cancelled.
_IS_DUE = """
    o.state IN ('PENDING', 'RUNNING') AND (o.deadline_at <= clock_timestamp() OR o.cancel_requested_at IS NOT NULL)
    AND NOT EXISTS (SELECT FROM lease h WHERE h.id = o.lease_id AND h.expires_at > clock_timestamp())
"""
DUE_OF_RELEASE = f"""
    SELECT CAST(o.id AS text) AS id FROM operation o JOIN release r ON r.id = o.release_id
     WHERE {_BY_NAME} AND {_IS_DUE}
"""  # noqa: S608
DUE_BY_ID = f"""
    SELECT CAST(o.id AS text) AS id FROM operation o WHERE o.release_id = $1::text::uuid AND {_IS_DUE}
"""  # noqa: S608
DUE = f"""
    SELECT CAST(o.id AS text) AS id FROM operation o WHERE {_IS_DUE} ORDER BY o.created_at, o.id LIMIT $1
"""  # noqa: S608
# The last revision that was deployed, or the newest if none was.
REVISION = f"""
    SELECT {row.REVISION}, {row.DOCUMENTS}
      FROM release r JOIN release_revision v ON v.release_id = r.id
       AND v.revision = coalesce(nullif($3::integer, 0), nullif(r.revision, 0), r.latest_revision)
     WHERE {_BY_NAME}
"""  # noqa: S608
UNFINISHED = f"""
    SELECT CAST(o.id AS text) AS id, CAST(o.release_id AS text) AS release_id, r.namespace, o.state, r.engine,
           coalesce(l.expires_at > clock_timestamp(), false) AS is_held, o.created_at
      {row.FROM_OPERATION}
     WHERE o.state IN ('PENDING', 'RUNNING') AND (o.created_at, o.id) > ($1::timestamptz, $2::text::uuid)
       AND (cardinality($3::text[]) = 0 OR r.namespace = ANY ($3::text[]))
     ORDER BY o.created_at, o.id
     LIMIT $4
"""

_LIST = sqlalchemy.text(f"""
    SELECT {row.RELEASE} FROM release r
     WHERE r.deleted_at IS NULL AND (CAST(:namespace AS text) = '' OR r.namespace = :namespace)
       AND (r.state = ANY (CAST(:states AS text[]))
            OR cardinality(CAST(:states AS text[])) = 0 AND (r.state <> 'PLANNED' OR :include_planned))
     ORDER BY r.namespace, r.name
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
_HISTORY = sqlalchemy.text(f"""
    SELECT {row.REVISION} FROM release_revision v WHERE v.release_id = CAST(:release_id AS uuid)
     ORDER BY v.revision DESC
""").execution_options(yield_per=_LISTED_ROWS)  # noqa: S608
_OPERATIONS = sqlalchemy.text(f"""
    SELECT {row.OPERATION} {row.FROM_OPERATION} WHERE o.release_id = CAST(:release_id AS uuid)
     ORDER BY o.created_at DESC, o.id DESC
""").execution_options(yield_per=_LISTED_ROWS)
_NODES = sqlalchemy.text(f"""
    SELECT {row.NODE} FROM node n WHERE n.operation_id = CAST(:operation_id AS uuid) ORDER BY n.ordinal
""")  # noqa: S608
_STEPS = sqlalchemy.text(f"""
    SELECT {row.STEP} FROM node n JOIN step s ON s.node_id = n.id WHERE n.operation_id = CAST(:operation_id AS uuid)
     ORDER BY n.ordinal, s.ordinal
""")  # noqa: S608
# Includes the gates and barriers, which have no rows of their own.
_PLANNED = sqlalchemy.text("""
    SELECT planned.node ->> 'path' AS path, planned.node ->> 'kind' AS kind,
           ARRAY(SELECT json_array_elements_text(planned.node -> 'after')) AS after,
           coalesce(planned.node ->> 'begin', '') AS begin
      FROM operation o
     CROSS JOIN LATERAL json_array_elements(o.plan -> 'nodes') WITH ORDINALITY AS planned (node, place)
     WHERE o.id = CAST(:operation_id AS uuid)
     ORDER BY planned.place
""")
_RESOURCES = sqlalchemy.text(f"""
    SELECT {row.RESOURCE} FROM release_resource e WHERE e.release_id = CAST(:release_id AS uuid) ORDER BY e.path
""").execution_options(yield_per=_CURSOR_ROWS)  # noqa: S608

NodeWithSteps: TypeAlias = tuple[record.Node, Sequence[record.Step]]
Place: TypeAlias = tuple[datetime.datetime, str]
BEGINNING: Place = (datetime.datetime(1, 1, 1, tzinfo=datetime.UTC), "00000000-0000-0000-0000-000000000000")
# Operations that are held under leases.
INHERITED = sqlalchemy.text("""
    SELECT CAST(o.id AS text) FROM operation o
     WHERE o.lease_id = CAST(:id AS uuid) AND o.state IN ('PENDING', 'RUNNING')
     ORDER BY o.created_at, o.id
     LIMIT :limit
""")
LOST = sqlalchemy.text("""
    SELECT CAST(o.id AS text)
      FROM operation o LEFT JOIN lease l ON l.id = o.lease_id
     WHERE o.state IN ('PENDING', 'RUNNING') AND o.lease_id IS NOT NULL
       AND (l.id IS NULL OR l.expires_at <= clock_timestamp())
     ORDER BY o.created_at, o.id
     LIMIT :limit
""")


async def by_id(fetch: Fetch, release_id: str) -> record.Release | None:
    """Return the release with an id, even if it was uninstalled."""
    found = await fetch(BY_ID, release_id)
    return row.release(found[0]) if found else None


async def by_name(fetch: Fetch, namespace: str, name: str) -> record.Release | None:
    """Return the release with a name."""
    found = await fetch(BY_NAME, namespace, name)
    return row.release(found[0]) if found else None


async def operation(fetch: Fetch, operation_id: str) -> record.Operation | None:
    """Return an operation."""
    found = await fetch(OPERATION, operation_id)
    return row.operation(found[0]) if found else None


async def result(fetch: Fetch, operation_id: str) -> str:
    """Return the result of an operation as JSON text, empty for none."""
    found = await fetch(RESULT, operation_id)
    return (found[0]["result"] or "") if found else ""


async def revision(fetch: Fetch, namespace: str, name: str, number: int) -> record.Revision | None:
    """Return a revision with its documents. 0 means the last that was deployed, or the newest if none was."""
    found = await fetch(REVISION, namespace, name, number)
    return row.revision(found[0]) if found else None


async def due_of_release(fetch: Fetch, namespace: str, name: str) -> str | None:
    """Return the due operation of a release: past its deadline or cancelled, without a live lease."""
    found = await fetch(DUE_OF_RELEASE, namespace, name)
    return str(found[0]["id"]) if found else None


async def due_by_id(fetch: Fetch, release_id: str) -> str | None:
    """Return the due operation of a release by the release's id."""
    found = await fetch(DUE_BY_ID, release_id)
    return str(found[0]["id"]) if found else None


async def due(fetch: Fetch, *, limit: int) -> list[str]:
    """Return the due operations, oldest first."""
    return [found["id"] for found in await fetch(DUE, limit)]


async def unfinished(
    fetch: Fetch, namespaces: Sequence[str], *, after: Place, limit: int
) -> tuple[list[record.UnfinishedOperation], Place | None]:
    """Return a page of the unfinished operations, oldest first, and where it ends, or None after the last page."""
    rows = await fetch(UNFINISHED, *after, list(namespaces), limit)
    page = [row.unfinished(found) for found in rows]
    return page, (rows[-1]["created_at"], rows[-1]["id"]) if len(rows) == limit else None


async def list_releases(
    connection: AsyncConnection, namespace: str, states: Sequence[ReleaseState], *, include_planned: bool
) -> AsyncGenerator[record.Release, None]:
    """Yield the releases of a namespace, or of all, in any of the states, or in all, by namespace and name.

    Without states, PLANNED releases are left out unless they are included explicitly.
    """
    values = {"namespace": namespace, "states": list(states), "include_planned": include_planned}
    async with connection.stream(_LIST, values) as rows:
        async for found in rows.mappings():
            yield row.release(found)


async def history(connection: AsyncConnection, release_id: str) -> AsyncGenerator[record.Revision, None]:
    """Yield the revisions of a release without their documents, newest first."""
    async with connection.stream(_HISTORY, {"release_id": release_id}) as rows:
        async for found in rows.mappings():
            yield row.revision(found)


async def list_operations(connection: AsyncConnection, release_id: str) -> AsyncGenerator[record.Operation, None]:
    """Yield the operations of a release, newest first."""
    async with connection.stream(_OPERATIONS, {"release_id": release_id}) as rows:
        async for found in rows.mappings():
            yield row.operation(found)


async def list_nodes(connection: AsyncConnection, operation_id: str) -> list[NodeWithSteps]:
    """Return the nodes of an operation in the order of its plan, each with its steps in order."""
    values = {"operation_id": operation_id}
    nodes = await offload.each(row.node, (await connection.execute(_NODES, values)).mappings())
    steps: dict[str, list[record.Step]] = {node.id: [] for node in nodes}
    for step in await offload.each(row.step, (await connection.execute(_STEPS, values)).mappings()):
        steps[step.node_id].append(step)
    return [(node, steps[node.id]) for node in nodes]


async def list_planned(connection: AsyncConnection, operation_id: str) -> list[PlanNode]:
    """Return the nodes of an operation's plan in order. Only their prerequisites are read."""
    return await offload.each(_planned, (await connection.execute(_PLANNED, {"operation_id": operation_id})).mappings())


async def list_resources(connection: AsyncConnection, release_id: str) -> AsyncGenerator[record.Resource, None]:
    """Yield the resources of a release by path."""
    async with connection.stream(_RESOURCES, {"release_id": release_id}) as rows:
        async for found in rows.mappings():
            yield row.resource(found)


def _planned(found: Mapping[Any, Any]) -> PlanNode:
    kind, after = PlanKind(found["kind"]), tuple(found["after"])
    return PlanNode(path=found["path"], kind=kind, after=after, begin=found["begin"])


async def inherited(connection: AsyncConnection, lease_id: str, *, limit: int) -> Sequence[str]:
    """Return the ids of operations that are held under a lease."""
    return list((await connection.execute(INHERITED, {"id": lease_id, "limit": limit})).scalars())


async def lost(connection: AsyncConnection, *, limit: int) -> Sequence[str]:
    """Return the ids of operations whose lease is over."""
    return list((await connection.execute(LOST, {"limit": limit})).scalars())
