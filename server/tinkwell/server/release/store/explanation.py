"""Reads what explains an operation: its plan, the provisioners that could take it, and the limits of its calls."""

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinkwell.core.release.explanation.fact import Provisioner
from tinkwell.server.database.database import Fetch

_MAX_PROVISIONERS = 100
SITUATION = """
    SELECT clock_timestamp() AS now, coalesce(CAST(o.plan AS text), '') AS plan, r.engine AS release_engine, l.owner,
           l.engine, extract(epoch FROM clock_timestamp() - l.expires_at)::double precision AS silent_seconds
      FROM operation o JOIN release r ON r.id = o.release_id LEFT JOIN lease l ON l.id = o.lease_id
     WHERE o.id = $1::text::uuid
"""
ALIVE = "SELECT owner, engine FROM lease WHERE expires_at > clock_timestamp() ORDER BY owner LIMIT $1"
# Reads only the numbers of attempts and the timeouts, because a manifest may be large.
LIMITS = """
    SELECT given.path, coalesce(CAST(m.value -> 'retries' AS text), 'null') AS retries,
           coalesce(CAST(m.value -> 'timeouts' AS text), '{}') AS timeouts,
           coalesce(CAST(e.init -> 'tinkwell' AS text), '{}') AS extension
      FROM operation o
     CROSS JOIN unnest($2::text[]) AS given (path)
      LEFT JOIN release_resource e ON e.release_id = o.release_id AND e.path = given.path
      LEFT JOIN LATERAL (SELECT each.key, each.value FROM release_revision v
                          CROSS JOIN json_each(v.manifest -> 'resources') each
                          WHERE v.release_id = o.release_id AND v.revision = o.revision) m ON m.key = given.path
     WHERE o.id = $1::text::uuid
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The database's time, the plan as JSON text, empty for none, and the provisioners."""

    now: datetime.datetime
    plan: str
    engine: str
    holder: Provisioner | None
    alive: Sequence[Provisioner]


async def situation(fetch: Fetch, operation_id: str) -> Situation | None:
    """Return the situation of an operation, or None if there is no such operation."""
    found = await fetch(SITUATION, operation_id)
    if not found:
        return None
    row = found[0]
    holder = None
    if row["owner"] is not None:
        silent = max(row["silent_seconds"], 0.0)
        holder = Provisioner(owner=row["owner"], engine=row["engine"], silent_seconds=silent)
    alive = [Provisioner(owner=each["owner"], engine=each["engine"]) for each in await fetch(ALIVE, _MAX_PROVISIONERS)]
    return Situation(now=row["now"], plan=row["plan"], engine=row["release_engine"], holder=holder, alive=alive)


async def limits(
    fetch: Fetch, operation_id: str, paths: Sequence[str]
) -> Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the attempts and timeouts that manifest and image set for resources, as JSON objects, by path."""
    rows = await fetch(LIMITS, operation_id, list(paths)) if paths else []
    return {
        row["path"]: (
            {"retries": json.loads(row["retries"]), "timeouts": json.loads(row["timeouts"])},
            {"tinkwell": json.loads(row["extension"])},
        )
        for row in rows
    }
