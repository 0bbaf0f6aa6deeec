"""What is no longer kept of releases: old revisions with their operations, and releases that are of no use any more."""

from tinkwell.server.database.database import Fetch, Transaction

# Beside the newest ones that which is installed, that which is being, and those that resources were seen in last.
FORGET_REVISIONS = """
    DELETE FROM release_revision v
     WHERE v.release_id = $1::text::uuid AND v.state NOT IN ('DEPLOYED', 'PENDING')
       AND v.revision <= (SELECT latest_revision FROM release WHERE id = v.release_id) - $2
       AND NOT EXISTS (SELECT FROM release_resource e WHERE e.release_id = v.release_id AND e.revision = v.revision)
"""
# Beside the newest ones those that have made a revision, and the one that a resumption goes on with.
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
# Tests and plans count by themselves; a plan stays with the operation that applies it.
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
# Each plan of such a release writes it, so that one which is being planned meanwhile is not old any more.
FORGET_PLANNED = """
    DELETE FROM release
     WHERE id IN (SELECT r.id FROM release r
                   WHERE r.state = 'PLANNED' AND r.updated_at < clock_timestamp() - make_interval(secs => $1)
                     AND NOT EXISTS (SELECT FROM operation o
                                      WHERE o.release_id = r.id AND o.state IN ('PENDING', 'RUNNING'))
                   ORDER BY r.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
"""


async def forget(transaction: Transaction, release_id: str, *, keep: int | None) -> None:
    """Forget all but the newest revisions and operations of a release that is locked; what is needed stays as well.

    With a `keep` of None only tests and plans are forgotten, of which always as many stay.
    """
    await transaction.fetch(FORGET_LOOKS, release_id, KEPT_LOOKS)
    if keep is None:
        return
    await transaction.fetch(FORGET_REVISIONS, release_id, keep)
    await transaction.fetch(FORGET_OPERATIONS, release_id, keep)


async def forget_releases(fetch: Fetch, *, age_seconds: float, limit: int) -> None:
    """Forget some of the releases that were uninstalled, or planned, so long ago, with all that belongs to them."""
    await fetch(FORGET_RELEASES, age_seconds, limit)
    await fetch(FORGET_PLANNED, age_seconds, limit)
