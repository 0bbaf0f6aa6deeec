"""The documents of a release as they are stored, read and written for sealing and opening."""

import json
from collections.abc import Mapping, Sequence

from tinkwell.server.database.database import Fetch, Transaction

# Whether anything is sealed of an operation `o`, of the plan that it applies, of its release `r`, or of one of these
# revisions: the operation's, the deployed one, and the newest.
HAS_SECRETS = """
    EXISTS (SELECT FROM (VALUES ('operation', o.id::text), ('operation', o.plan_of::text), ('release', r.id::text),
                                ('release_revision', concat(r.id, '/', r.revision)),
                                ('release_revision', concat(r.id, '/', r.latest_revision)),
                                ('release_revision', concat(r.id, '/', coalesce(nullif(o.revision, 0), o.rollback_of)))
                        ) AS owner (kind, id)
              JOIN sealed_value s ON s.owner_kind = owner.kind AND s.owner_id = owner.id)
"""
SOURCE = "SELECT CAST(source AS text) AS source FROM operation WHERE id = $1::text::uuid"
REVISION = """
    SELECT CAST(source AS text) AS source, CAST(manifest AS text) AS manifest, CAST(late AS text) AS late
      FROM release_revision WHERE release_id = $1::text::uuid AND revision = $2
"""
REVISION_SOURCE = """
    SELECT CAST(source AS text) AS source FROM release_revision WHERE release_id = $1::text::uuid AND revision = $2
"""
RESOURCES = """
    SELECT path, CAST(init AS text) AS init, CAST(config AS text) AS config, CAST(state AS text) AS state
      FROM release_resource WHERE release_id = $1::text::uuid
"""
ARGS = """
    SELECT CAST(s.id AS text) AS id, s.args FROM node n JOIN step s ON s.node_id = n.id
     WHERE n.operation_id = $1::text::uuid AND s.args IS NOT NULL
"""
DECLARED = """
    SELECT path, CAST(init -> 'tinkwell' -> 'sensitive' AS text) AS pointers
      FROM release_resource
     WHERE release_id = $1::text::uuid AND init -> 'tinkwell' -> 'sensitive' IS NOT NULL
"""
_WRITE_SOURCE = "UPDATE operation SET source = $2::text::json WHERE id = $1::text::uuid"
_WRITE_REVISION = """
    UPDATE release_revision
       SET source = coalesce($3::text::json, source), manifest = coalesce($4::text::json, manifest),
           late = coalesce($5::text::json, late)
     WHERE release_id = $1::text::uuid AND revision = $2
"""
_WRITE_RESOURCE = """
    UPDATE release_resource
       SET init = coalesce($3::text::json, init), config = coalesce($4::text::json, config),
           state = coalesce($5::text::json, state)
     WHERE release_id = $1::text::uuid AND path = $2
"""
_WRITE_ARGS = "UPDATE step SET args = $2::text[] WHERE id = $1::text::uuid"

OF_REVISION = ("source", "manifest", "late")
OF_RESOURCE = ("init", "config", "state")


async def source(fetch: Fetch, operation_id: str) -> str | None:
    """Return the source of an operation, or None if it has none of its own."""
    found = await fetch(SOURCE, operation_id)
    return found[0]["source"] if found else None


async def revision(fetch: Fetch, release_id: str, number: int) -> Mapping[str, str]:
    """Return the documents of a revision by name, or nothing if there is no such revision."""
    found = await fetch(REVISION, release_id, number)
    return dict(found[0]) if found else {}


async def revision_source(fetch: Fetch, release_id: str, number: int) -> str | None:
    """Return the source of a revision, or None if there is no such revision."""
    found = await fetch(REVISION_SOURCE, release_id, number)
    return found[0]["source"] if found else None


async def resources(fetch: Fetch, release_id: str) -> Mapping[str, Mapping[str, str]]:
    """Return the documents of a release's resources, by path and name. Missing documents are left out."""
    rows = await fetch(RESOURCES, release_id)
    return {row["path"]: {name: row[name] for name in OF_RESOURCE if row[name] is not None} for row in rows}


async def args(fetch: Fetch, operation_id: str) -> Mapping[str, Sequence[str | None]]:
    """Return the arguments of an operation's steps, by step id. Steps without arguments are left out."""
    return {row["id"]: row["args"] for row in await fetch(ARGS, operation_id)}


async def declared(fetch: Fetch, release_id: str) -> Mapping[str, Sequence[str]]:
    """Return the pointers that images have named as sensitive, by the paths of the resources."""
    found = {row["path"]: json.loads(row["pointers"]) for row in await fetch(DECLARED, release_id)}
    return {path: pointers for path, pointers in found.items() if isinstance(pointers, list)}


async def write_source(transaction: Transaction, operation_id: str, text: str) -> None:
    """Replace the source of an operation."""
    await transaction.fetch(_WRITE_SOURCE, operation_id, text)


async def write_revision(transaction: Transaction, release_id: str, number: int, texts: Mapping[str, str]) -> None:
    """Replace documents of a revision, given by name."""
    await transaction.fetch(_WRITE_REVISION, release_id, number, *map(texts.get, OF_REVISION))


async def write_resources(transaction: Transaction, release_id: str, texts: Mapping[str, Mapping[str, str]]) -> None:
    """Replace documents of resources, given by path and name."""
    rows = [(release_id, path, *map(found.get, OF_RESOURCE)) for path, found in texts.items()]
    await transaction.execute_each(_WRITE_RESOURCE, rows)


async def write_args(transaction: Transaction, args_of: Mapping[str, Sequence[str | None]]) -> None:
    """Replace the arguments of steps, given by step id."""
    await transaction.execute_each(_WRITE_ARGS, [(step_id, list(found)) for step_id, found in args_of.items()])
