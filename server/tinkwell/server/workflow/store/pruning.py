"""Rows that are old enough to be pruned: found, and deleted with all that belongs to them, in pieces.

Each piece is a transaction of its own. Pruning never waits for a lock: rows that others have locked are left to the
next run. The expression for the end of a workflow is the one that the index `workflow_ended` has; the rule is
`tinkwell.core.workflow.pruning`.
"""

import contextlib
import dataclasses
import datetime
from collections.abc import Collection, Iterator, Sequence

import asyncpg

from tinkwell.core import errors
from tinkwell.core.event.kinds import State
from tinkwell.core.workflow.pruning import Candidate
from tinkwell.server.database.database import Fetch

# The number of rows of workflows' parts that one piece deletes. A version of a document may have a megabyte.
LINES = 2_000
STATUSES = 2_000
DOCUMENTS = 50
# The number of machines or templates that one piece deletes.
OTHERS = 200

_ENDED = "least(w.finished_at, w.deleted_at)"
_HAS_ENDED = "(w.finished_at IS NOT NULL OR w.deleted_at IS NOT NULL)"
_SHOWN = """
    SELECT w.id::text, w.state, w.finished_at, w.deleted_at, coalesce(w.recovers::text, '') AS recovers,
           w.total_actions + 1 AS rows,
           EXISTS (SELECT FROM machine_hold h JOIN lease l ON l.id = h.lease_id
                    WHERE h.workflow_id = w.id AND l.expires_at > clock_timestamp()) AS is_held,
           ARRAY(SELECT r.id::text FROM workflow r WHERE r.recovers = w.id) AS recovered_by
      FROM workflow w
"""
PAGE = f"""
    {_SHOWN}
     WHERE {_HAS_ENDED} AND {_ENDED} < $1 AND ({_ENDED}, w.id) < ($2, $3::text::uuid)
     ORDER BY {_ENDED} DESC, w.id DESC LIMIT $4
"""
LOCKED = f"{_SHOWN} WHERE w.id = ANY ($1::text[]::uuid[]) ORDER BY {_ENDED} DESC, w.id DESC FOR UPDATE OF w SKIP LOCKED"
_MARK = """
    UPDATE workflow SET deleted_at = clock_timestamp()
     WHERE id = ANY ($1::text[]::uuid[]) AND deleted_at IS NULL RETURNING true
"""
_REMOVE = "DELETE FROM workflow WHERE id = ANY ($1::text[]::uuid[]) RETURNING total_actions"
# Deletes a limited number of rows of a few workflows. Only documents' rows ever change, and their workflow is marked as
# deleted by this time.
FORGET_LINES = """
    DELETE FROM log_line
     WHERE ctid = ANY (ARRAY(SELECT l.ctid FROM action a JOIN log_line l ON l.action_id = a.id
                              WHERE a.workflow_id = ANY ($1::text[]::uuid[]) LIMIT $2))
    RETURNING true
"""
FORGET_STATUSES = """
    DELETE FROM action_status
     WHERE id IN (SELECT id FROM action_status WHERE workflow_id = ANY ($1::text[]::uuid[]) LIMIT $2) RETURNING true
"""
FORGET_DOCUMENTS = """
    DELETE FROM workflow_data
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM workflow_data WHERE workflow_id = ANY ($1::text[]::uuid[]) LIMIT $2))
    RETURNING true
"""
# Reports of workflows that were deleted from the database by hand. The oldest come first, so the run ends at the first
# that is too young.
_STRAYS = """
    WITH page AS MATERIALIZED (
        SELECT id, workflow_id, created_at < $1 AS is_past FROM action_status WHERE id > $2 ORDER BY id LIMIT $3
    ), stray AS (
        SELECT id FROM page p
         WHERE is_past AND NOT EXISTS (SELECT FROM workflow w WHERE w.id = p.workflow_id)
    ), {what}
    SELECT (SELECT max(id) FROM page), (SELECT count(*) FROM gone),
           (SELECT count(*) = $3 AND bool_and(is_past) FROM page)
"""
FORGET_STRAYS = _STRAYS.format(
    what="gone AS (DELETE FROM action_status WHERE id IN (SELECT id FROM stray) RETURNING true)"
)
_COUNT_STRAYS = _STRAYS.format(what="gone AS (SELECT FROM stray)")
# A reference to a deleted machine is older than the deletion: a workflow is created for machines that are live and
# locked.
_UNUSED_HARDWARE = """
    SELECT o.id FROM hardware o
     WHERE o.deleted_at < $1 AND NOT EXISTS (SELECT FROM machine_hold h WHERE h.worker_id = o.id)
       AND NOT EXISTS (SELECT FROM action a {and_workflow} WHERE a.worker_id = o.id {and_kept})
"""
_UNUSED_TEMPLATES = """
    SELECT o.id FROM template o
     WHERE o.deleted_at < $1 AND NOT EXISTS (SELECT FROM workflow w WHERE w.template_id = o.id {and_kept})
"""
_TAKEN = "ORDER BY o.deleted_at LIMIT $2 FOR UPDATE SKIP LOCKED"
FORGET_HARDWARE = f"""
    DELETE FROM hardware
     WHERE id IN ({_UNUSED_HARDWARE.format(and_workflow="", and_kept="")} {_TAKEN}) RETURNING true
"""  # noqa: S608
FORGET_TEMPLATES = f"""
    DELETE FROM template WHERE id IN ({_UNUSED_TEMPLATES.format(and_kept="")} {_TAKEN}) RETURNING true
"""  # noqa: S608
# Counts as if all old workflows were deleted already, except the kept ones.
_AND_KEPT = f"AND (NOT {_HAS_ENDED} OR {_ENDED} >= $1 OR w.id = ANY ($2::text[]::uuid[]))"
_AND_WORKFLOW = "JOIN workflow w ON w.id = a.workflow_id"
_COUNT_HARDWARE = f"""
    SELECT count(*) FROM ({_UNUSED_HARDWARE.format(and_workflow=_AND_WORKFLOW, and_kept=_AND_KEPT)}) unused
"""  # noqa: S608
_COUNT_TEMPLATES = f"SELECT count(*) FROM ({_UNUSED_TEMPLATES.format(and_kept=_AND_KEPT)}) unused"  # noqa: S608
_COUNT_PARTS = """
    SELECT (SELECT count(*) FROM action a JOIN log_line l ON l.action_id = a.id WHERE a.workflow_id = ANY (ids)),
           (SELECT count(*) FROM action_status WHERE workflow_id = ANY (ids))
      FROM (SELECT $1::text[]::uuid[]) AS given (ids)
"""
_CUT = "SELECT clock_timestamp() - make_interval(secs => $1)"
_TAKE_TURN = """
    INSERT INTO pruning_turn AS t (holder, held_until)
    VALUES ($1::text::uuid, clock_timestamp() + make_interval(secs => $2))
        ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
     WHERE t.holder = excluded.holder OR t.held_until <= clock_timestamp()
    RETURNING true
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A position in the list of workflows, from the latest end to the earliest."""

    ended_at: datetime.datetime
    id: str


@dataclasses.dataclass(frozen=True, slots=True)
class Strays:
    """A page of reports: its end, the number of reports without a workflow, and whether older reports may follow."""

    last: int
    count: int
    has_more: bool


def beginning(ended_before: datetime.datetime) -> Place:
    """Return the position before all workflows that ended before this time."""
    return Place(ended_before, "ffffffff-ffff-ffff-ffff-ffffffffffff")


async def cut(fetch: Fetch, age_seconds: float) -> datetime.datetime:
    """Return the database's time minus this age."""
    moment = (await fetch(_CUT, age_seconds))[0][0]
    assert isinstance(moment, datetime.datetime)
    return moment


async def page(fetch: Fetch, ended_before: datetime.datetime, after: Place, *, limit: int) -> list[Candidate]:
    """Return the next workflows that ended before a time, latest first, without locking them."""
    rows = await fetch(PAGE, ended_before, after.ended_at, after.id, limit)
    return [_candidate(row) for row in rows]


async def lock(fetch: Fetch, ids: Sequence[str]) -> list[Candidate]:
    """Lock and return those of the workflows that no other transaction has locked, in the order of `page`."""
    with _allowed():
        return [_candidate(row) for row in await fetch(LOCKED, ids)]


async def mark(fetch: Fetch, ids: Sequence[str]) -> int:
    """Mark workflows as deleted, as a user's deletion does. Return how many were not marked before."""
    return len(await fetch(_MARK, ids))


async def remove(fetch: Fetch, ids: Sequence[str]) -> Sequence[int]:
    """Delete workflows and all rows that are left of them. Return the counts of their actions."""
    with _allowed():
        # No report is added now, because the workflows are locked.
        await fetch("DELETE FROM action_status WHERE workflow_id = ANY ($1::text[]::uuid[])", ids)
        return [row[0] for row in await fetch(_REMOVE, ids)]


async def forget(fetch: Fetch, query: str, ids: Sequence[str], *, limit: int) -> int:
    """Delete at most `limit` rows that belong to the workflows, by `FORGET_LINES` or a similar query.

    Return their number.
    """
    with _allowed():
        return len(await fetch(query, ids, limit))


async def forget_unused(fetch: Fetch, query: str, deleted_before: datetime.datetime) -> int:
    """Delete some machines or templates by `FORGET_HARDWARE` or a similar query. Return their number."""
    with _allowed():
        return len(await fetch(query, deleted_before, OTHERS))


async def strays(fetch: Fetch, reported_before: datetime.datetime, *, after: int, is_wanted: bool) -> Strays:
    """Read the next reports, and delete those without a workflow if `is_wanted`."""
    with _allowed():
        [row] = await fetch(FORGET_STRAYS if is_wanted else _COUNT_STRAYS, reported_before, after, STATUSES)
    return Strays(row[0] or after, row[1], bool(row[2]))


async def count_parts(fetch: Fetch, ids: Sequence[str]) -> tuple[int, int]:
    """Count the lines of output and the reports of workflows."""
    [row] = await fetch(_COUNT_PARTS, ids)
    return int(row[0]), int(row[1])


async def count_unused(fetch: Fetch, before: datetime.datetime, *, kept: Collection[str]) -> tuple[int, int]:
    """Count machines and templates that nothing would refer to if all old workflows but the kept ones were deleted."""
    hardware = (await fetch(_COUNT_HARDWARE, before, list(kept)))[0][0]
    templates = (await fetch(_COUNT_TEMPLATES, before, list(kept)))[0][0]
    return int(hardware), int(templates)


async def take_turn(fetch: Fetch, holder: str, *, seconds: float) -> bool:
    """Take the turn for this many seconds, or give it back with 0. Return False while another holder has it."""
    with _allowed():
        return bool(await fetch(_TAKE_TURN, holder, seconds))


def _candidate(row: asyncpg.Record) -> Candidate:
    values = dict(row)
    return Candidate(**values | {"state": State(values["state"])})


@contextlib.contextmanager
def _allowed() -> Iterator[None]:
    """Turn a missing permission of the server's role into an error that says what to do."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as error:
        raise errors.IllegalTransition(
            "pruning",
            "the server's role may not delete in the database; let the owner of the schema run "
            "`tinkwell db upgrade --server-role ROLE`",
        ) from error
