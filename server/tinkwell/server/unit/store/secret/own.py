"""What a unit knows of its secrets without their content. It is sent with each grant."""

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core.unit.kinds import Rotation
from tinkwell.server.database.database import Fetch
from tinkwell.server.unit.store.secret.access import ROWS_OF_UNIT, may_read, owns

OWN = f"""
    SELECT s.name, s.owner, {owns()} AS is_owned,
           CASE WHEN {owns()} THEN s.label ELSE coalesce(k.label, '') END AS label, s.description, s.latest,
           coalesce(k.tracked, 0) AS tracked, s.rotation, s.rotates_at,
           (SELECT v.expires_at FROM secret_revision v
             WHERE v.secret_id = s.id AND v.revision = s.latest) AS expires_at,
           CASE WHEN {owns()} THEN
               ARRAY(SELECT v.revision FROM secret_revision v WHERE v.secret_id = s.id ORDER BY v.revision)
           ELSE '{{}}' END AS revisions,
           CASE WHEN {owns()} THEN
               (SELECT CAST(json_agg(json_build_array(coalesce(r.number, 0), o.name, coalesce(x.name, ''))
                                     ORDER BY g.id) AS text)
                  FROM secret_grant g JOIN application o ON o.id = g.application_id
                  LEFT JOIN relation r ON r.id = g.relation_id LEFT JOIN unit x ON x.id = g.unit_id
                 WHERE g.secret_id = s.id) END AS grants
      FROM unit u JOIN application a ON a.id = u.application_id
     CROSS JOIN LATERAL {ROWS_OF_UNIT}
      LEFT JOIN secret_reader k ON k.secret_id = s.id AND k.unit_id = u.id
     WHERE u.id = $1::text::uuid AND {may_read()}
     ORDER BY NOT {owns()}, s.name
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant of a secret to an application, or to one unit of it.

    Relation 0 is for a user's secret, which needs none.
    """

    relation: int
    application: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSecret:
    """A secret that a unit owns or has read. If it does not own it, `revisions` and `grants` are empty."""

    name: str
    owner: str
    is_owned: bool
    label: str
    description: str
    latest: int
    tracked: int
    rotation: Rotation
    rotates_at: datetime.datetime | None
    expires_at: datetime.datetime | None
    revisions: Sequence[int]
    grants: Sequence[Granted]


async def read(fetch: Fetch, unit_id: str) -> Sequence[OwnSecret]:
    """Return the secrets of a unit: those that it owns before those that it has read, each by name."""
    return [
        OwnSecret(
            **dict(found)
            | {
                "rotation": Rotation(found["rotation"]),
                "revisions": tuple(found["revisions"]),
                "grants": grants_of(found["grants"]),
            }
        )
        for found in await fetch(OWN, unit_id)
    ]


def grants_of(text: str | None) -> Sequence[Granted]:
    """Read an aggregated list of grants."""
    return [Granted(*each) for each in json.loads(text)] if text is not None else []
