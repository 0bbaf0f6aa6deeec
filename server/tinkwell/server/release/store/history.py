"""Deletes the history of releases that is not kept: old revisions with their operations, and old releases."""

from tinkwell.server.database.database import Fetch, Transaction

# Besides the newest revisions, this keeps the installed one, the one being installed, and those that a resource was
# last seen in.
FORGET_REVISIONS = """
    DELETE FROM release_revision v
     WHERE v.release_id = $1::text::uuid AND v.state NOT IN ('DEPLOYED', 'PENDING')
       AND v.revision <= (SELECT latest_revision FROM release WHERE id = v.release_id) - $2
       AND NOT EXISTS (SELECT FROM release_resource e WHERE e.release_id = v.release_id AND e.revision = v.revision)
"""
# Besides the newest operations, this keeps those that created a revision, and the one that a resumption continues.
FORGET_OPERATIONS = """
    DELETE FROM operation o
     WHERE o.release_id = $1::text::uuid AND o.state NOT IN ('PENDING', 'RUNNING') AND o.kind NOT IN ('TEST', 'PLAN')
       AND NOT EXISTS (SELECT FROM release_revision v WHERE v.release_id = o.release_id AND v.operation_id = o.id)
       AND o.id NOT IN (SELECT id FROM operation WHERE release_id = $1::text::uuid AND kind NOT IN ('TEST', 'PLAN')
                         ORDER BY created_at DESC, id DESC LIMIT $2)
       AND o.id NOT IN (SELECT id FROM operation
                         WHERE release_id = $1::text::uuid AND plan IS NOT NULL AND kind NOT IN ('TEST', 'PLAN')
                         ORDER BY created_at DESC, id DESC LIMIT 1)
"""
# Tests and plans are counted by themselves. A plan is kept with the operation that applies it.
FORGET_LOOKS = """
    DELETE FROM operation o
     WHERE o.release_id = $1::text::uuid AND o.state NOT IN ('PENDING', 'RUNNING') AND o.kind IN ('TEST', 'PLAN')
       AND o.id NOT IN (SELECT id FROM operation WHERE release_id = $1::text::uuid AND kind IN ('TEST', 'PLAN')
                         ORDER BY created_at DESC, id DESC LIMIT $2)
       AND o.id NOT IN (SELECT plan_of FROM operation WHERE release_id = $1::text::uuid AND plan_of IS NOT NULL)
"""
KEPT_LOOKS = 10
FORGET_RELEASES = """
    DELETE FROM release
     WHERE id IN (SELECT id FROM release
                   WHERE deleted_at IS NOT NULL AND deleted_at < clock_timestamp() - make_interval(secs => $1)
                   ORDER BY deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""
# Each plan of such a release updates its row, so a release that is being planned is not old.
FORGET_PLANNED = """
    DELETE FROM release
     WHERE id IN (SELECT r.id FROM release r
                   WHERE r.state = 'PLANNED' AND r.updated_at < clock_timestamp() - make_interval(secs => $1)
                     AND NOT EXISTS (SELECT FROM operation o
                                      WHERE o.release_id = r.id AND o.state IN ('PENDING', 'RUNNING'))
                   ORDER BY r.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def forget(transaction: Transaction, release_id: str, *, keep: int | None) -> None:
    """Delete all but the newest revisions and operations of a locked release, except those that are still needed.

    With a `keep` of None only tests and plans are deleted, down to a constant number.
    """
    await transaction.fetch(FORGET_LOOKS, release_id, KEPT_LOOKS)
    if keep is None:
        return
    await transaction.fetch(FORGET_REVISIONS, release_id, keep)
    await transaction.fetch(FORGET_OPERATIONS, release_id, keep)


async def forget_releases(fetch: Fetch, *, age_seconds: float, limit: int) -> None:
    """Delete some of the releases that were uninstalled, or only planned, this long ago, with all their rows."""
    await fetch(FORGET_RELEASES, age_seconds, limit)
    await fetch(FORGET_PLANNED, age_seconds, limit)
