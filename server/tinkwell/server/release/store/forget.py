"""The owners of documents that have lost sealed values, by name."""

import dataclasses
from collections.abc import Mapping, Sequence

from tinkwell.server.database.database import Fetch, Transaction

OPERATIONS = """
    SELECT CAST(id AS text) AS id, CAST(release_id AS text) AS release_id, kind, state
      FROM operation WHERE id = ANY ($1::text[]::uuid[])
"""
RELEASES = """
    SELECT CAST(id AS text) AS id, namespace, name
      FROM release WHERE id = ANY ($1::text[]::uuid[])
     ORDER BY namespace, name, created_at
"""
# No operation begins on a release that is locked.
LOCK = "SELECT id FROM release WHERE id = ANY ($1::text[]::uuid[]) ORDER BY id FOR NO KEY UPDATE"
UNFINISHED = """
    SELECT CAST(id AS text) AS id, CAST(release_id AS text) AS release_id
      FROM operation WHERE release_id = ANY ($1::text[]::uuid[]) AND state IN ('PENDING', 'RUNNING')
     ORDER BY created_at, id
"""
_DROP_INIT = "UPDATE release_resource SET init = NULL WHERE release_id = $1::text::uuid AND path = $2"

_DROP_PLANS = "DELETE FROM operation WHERE id = ANY ($1::text[]::uuid[]) AND kind = 'PLAN'"


@dataclasses.dataclass(frozen=True, slots=True)
class OwningRelease:
    """A release by its name. An uninstalled release may have had the same name."""

    id: str
    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class OwningOperation:
    """An operation and its release."""

    id: str
    release_id: str
    kind: str
    state: str


async def operations(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, OwningOperation]:
    """Return operations by id."""
    return {row["id"]: OwningOperation(**row) for row in await fetch(OPERATIONS, list(ids))}


async def releases(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, OwningRelease]:
    """Return releases by id, in the order of their names."""
    return {row["id"]: OwningRelease(**row) for row in await fetch(RELEASES, list(ids))}


async def lock(transaction: Transaction, release_ids: Sequence[str]) -> None:
    """Lock releases, so that no operation begins on them."""
    await transaction.fetch(LOCK, list(release_ids))


async def unfinished(fetch: Fetch, release_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the ids of the unfinished operations of some releases, each with the id of its release."""
    return {row["id"]: row["release_id"] for row in await fetch(UNFINISHED, list(release_ids))}


async def drop_inits(transaction: Transaction, places: Sequence[tuple[str, str]]) -> None:
    """Delete the answers of images to `init`, of resources given by the id of their release and their path."""
    await transaction.execute_each(_DROP_INIT, places)


async def drop_plans(transaction: Transaction, ids: Sequence[str]) -> None:
    """Delete those of the operations that are plans."""
    await transaction.fetch(_DROP_PLANS, list(ids))
