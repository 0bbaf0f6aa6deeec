"""The view of a unit's secrets that its next event depends on: a part of one statement, and its readers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tinkwell.core.unit.ledger import SecretLedger
from tinkwell.core.unit.view import RevisionView, SecretView
from tinkwell.server.database.database import Fetch
from tinkwell.server.unit.store.secret.access import IS_USED, OF_UNIT, ROWS_OF_UNIT, may_read, owns

SECRETS = f"""
    (SELECT CAST(json_agg(json_build_array(
            s.name, s.latest, {owns()}, {may_read()}, coalesce(s.rotates_at <= clock_timestamp(), false),
            coalesce(k.tracked, 0), coalesce(k.told, 0), k.expired, k.removed,
            CASE WHEN {owns()} THEN
                (SELECT json_agg(json_build_array(
                            v.revision, coalesce(v.expires_at <= clock_timestamp(), false), {IS_USED}))
                   FROM secret_revision v WHERE v.secret_id = s.id) END)) AS text)
       FROM {OF_UNIT} AS mine (id) JOIN secret s ON s.id = mine.id
       LEFT JOIN secret_reader k ON k.secret_id = s.id AND k.unit_id = u.id) AS secrets
"""  # noqa: S608
# The next change by time alone, which no event of the log reports.
DUE_IN = f"""
    SELECT CAST(CASE WHEN min(d.at) IS NOT NULL
                     THEN greatest(extract(epoch FROM min(d.at) - clock_timestamp()), 0) END
                AS double precision) AS seconds
      FROM unit u JOIN application a ON a.id = u.application_id
     CROSS JOIN LATERAL {ROWS_OF_UNIT}
      LEFT JOIN secret_reader k ON k.secret_id = s.id AND k.unit_id = u.id
     CROSS JOIN LATERAL (
           SELECT s.rotates_at AS at
            UNION ALL
           SELECT v.expires_at FROM secret_revision v
            WHERE v.secret_id = s.id AND NOT v.revision = ANY (coalesce(k.expired, '{{}}'))) d
     WHERE u.id = $1::text::uuid AND {owns()}
"""  # noqa: S608


def rows_of(text: str | None) -> Sequence[Any]:
    """Read an aggregated list."""
    rows: Sequence[Any] = json.loads(text) if text is not None else ()
    return rows


def views(rows: Sequence[Any]) -> Mapping[str, SecretView]:
    """Return the secrets that a unit owns or has read, by name."""
    return {
        name: SecretView(
            id=name,
            latest=latest,
            revisions={number: RevisionView(is_expired=old, is_used=used) for number, old, used in revisions or ()},
            is_owner=is_owner,
            is_granted=is_granted,
            is_rotation_due=is_due,
        )
        for name, latest, is_owner, is_granted, is_due, tracked, _, _, _, revisions in rows
        # A former leader may have been told of secrets that it has never read.
        if is_owner or tracked
    }


def ledgers(rows: Sequence[Any]) -> Mapping[str, SecretLedger]:
    """Return what a unit was told of secrets, by name."""
    return {
        name: SecretLedger(tracked=tracked, told=told, expired=frozenset(expired), removed=frozenset(removed))
        for name, _, _, _, _, tracked, told, expired, removed, _ in rows
        if expired is not None
    }


async def due_in_seconds(fetch: Fetch, unit_id: str) -> float | None:
    """Return the seconds until a secret of a unit rotates or expires, or None if none does."""
    found = await fetch(DUE_IN, unit_id)
    seconds: float | None = found[0]["seconds"] if found else None
    return seconds
