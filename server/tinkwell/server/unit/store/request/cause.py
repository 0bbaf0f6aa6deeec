"""What the log tells of the causes of a unit's events, as far back as is looked."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinkwell.server.database.database import Fetch

# There is no index for it, so no more of the log is read than takes a moment.
_REVISIONS = 50_000
_NEAR = 100
_SINCE = f"(SELECT last_value FROM events_revision) - {_REVISIONS}"  # noqa: S608
BAG = f"""
    SELECT e.revision, e.actor, CAST(e.data AS text) AS data FROM events e
     WHERE e.revision > {_SINCE} AND e.resource_type = 'RELATION' AND e.event_type = 'RELATION_CHANGED'
       AND e.data ->> 'namespace' = $1 AND CAST(e.data ->> 'number' AS bigint) = $2 AND e.data ->> 'owner' = $3
       AND CAST(e.data ->> 'version' AS bigint) = $4
     ORDER BY e.revision DESC LIMIT 1
"""  # noqa: S608
# A commit and the bags that it changes are written by one transaction, and so stand close together.
COMMIT = f"""
    SELECT e.revision, e.actor, CAST(e.data AS text) AS data FROM events e
     WHERE e.revision BETWEEN $1 - {_NEAR} AND $1 + {_NEAR}
       AND e.resource_type = 'UNIT_EVENT' AND e.event_type = 'UNIT_EVENT_COMMITTED'
       AND e.data ->> 'namespace' = $2 AND e.data ->> 'unit' = $3
     ORDER BY abs(e.revision - $1) LIMIT 1
"""  # noqa: S608
APPLICATION = f"""
    SELECT e.revision, e.actor, CAST(e.data AS text) AS data FROM events e
     WHERE e.revision > {_SINCE} AND e.resource_type = 'APPLICATION' AND e.resource_id = $1::text::uuid
       AND CAST(e.data ->> $2 AS bigint) = $3
     ORDER BY e.revision LIMIT 1
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the log: its revision, who has caused it, and what it says."""

    revision: int
    actor: str
    data: Mapping[str, Any]


async def find_bag(fetch: Fetch, namespace: str, number: int, owner: str, version: int) -> Told | None:
    """Return the event that tells of a version of a bag; None where it is not found any more."""
    return _told(await fetch(BAG, namespace, number, owner, version))


async def find_commit(fetch: Fetch, namespace: str, unit: str, *, near: int) -> Told | None:
    """Return the event that tells of a unit's commit beside a revision; None where there is none."""
    return _told(await fetch(COMMIT, near, namespace, unit))


async def find_application(fetch: Fetch, application_id: str, counter: str, version: int) -> Told | None:
    """Return the first event in which `counter` of an application, such as config_version, is so much."""
    return _told(await fetch(APPLICATION, application_id, counter, version))


def _told(found: Any) -> Told | None:
    return Told(found[0]["revision"], found[0]["actor"], json.loads(found[0]["data"])) if found else None
