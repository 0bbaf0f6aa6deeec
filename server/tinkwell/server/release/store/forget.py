"""Whose documents have lost what was sealed of them, by name."""

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
# Nothing begins on a release that is locked.
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
    """A release by its name; one of the same name may have been uninstalled before."""

    id: str
    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class OwningOperation:
    """An operation, and the release that it is about."""

    id: str
    release_id: str
    kind: str
    state: str


async def operations(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, OwningOperation]:
    """Return operations by their ids."""
    return {row["id"]: OwningOperation(**row) for row in await fetch(OPERATIONS, list(ids))}


async def releases(fetch: Fetch, ids: Sequence[str]) -> Mapping[str, OwningRelease]:
    """Return releases by their ids, in the order of their names."""
    return {row["id"]: OwningRelease(**row) for row in await fetch(RELEASES, list(ids))}


async def lock(transaction: Transaction, release_ids: Sequence[str]) -> None:
    """Lock releases, so that no operation begins on them."""
    await transaction.fetch(LOCK, list(release_ids))


async def unfinished(fetch: Fetch, release_ids: Sequence[str]) -> Mapping[str, str]:
    """Return the ids of the operations of some releases that have not ended, each with that of its release."""
    return {row["id"]: row["release_id"] for row in await fetch(UNFINISHED, list(release_ids))}


async def drop_inits(transaction: Transaction, places: Sequence[tuple[str, str]]) -> None:
    """Forget what images have answered to `init`, of resources by the ids of their releases and their paths."""
    await transaction.execute_each(_DROP_INIT, places)


async def drop_plans(transaction: Transaction, ids: Sequence[str]) -> None:
    """Forget those of some operations that are plans."""
    await transaction.fetch(_DROP_PLANS, list(ids))
