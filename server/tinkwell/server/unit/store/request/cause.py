"""Reads the causes of a unit's events from the newest part of the log."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinkwell.server.database.database import Fetch

# The log has no index for this, so only this many revisions are read, which takes a moment.
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
# A commit and its changes of bags are written by one transaction, so their revisions are close together.
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
    """An event of the log: its revision, its actor, and its data."""

    revision: int
    actor: str
    data: Mapping[str, Any]


async def find_bag(fetch: Fetch, namespace: str, number: int, owner: str, version: int) -> Told | None:
    """Return the event with a version of a bag, or None if it is not found."""
    return _told(await fetch(BAG, namespace, number, owner, version))


async def find_commit(fetch: Fetch, namespace: str, unit: str, *, near: int) -> Told | None:
    """Return the event with a unit's commit near a revision, or None if there is none."""
    return _told(await fetch(COMMIT, near, namespace, unit))


async def find_application(fetch: Fetch, application_id: str, counter: str, version: int) -> Told | None:
    """Return the first event in which a counter of an application, such as config_version, has this value."""
    return _told(await fetch(APPLICATION, application_id, counter, version))


def _told(found: Any) -> Told | None:
    return Told(found[0]["revision"], found[0]["actor"], json.loads(found[0]["data"])) if found else None
