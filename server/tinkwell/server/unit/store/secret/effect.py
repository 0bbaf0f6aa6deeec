"""Writes the effects of units' events on secrets.

The caller has locked the unit, and its application if the effects need that. So the set of secrets that a unit owns,
their labels, and its labels for secrets of others are still as they were read. Other transactions that may change a
secret wait for the lock of its row.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core.unit.kinds import Owner, Rotation
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.delivery.look_again import look_again
from tinkwell.server.unit.store.secret import rotation as rotations
from tinkwell.server.unit.store.secret.access import may_read, owns

LOCK = """
    SELECT CAST(id AS text) AS id FROM secret WHERE namespace = $1 AND name = ANY ($2::text[])
     ORDER BY id FOR NO KEY UPDATE
"""
# A second statement, because it must see what was committed while the first one waited for the lock.
FIND = f"""
    SELECT CAST(s.id AS text) AS id, s.name, {owns()} AS is_owned, {may_read()} AS is_readable,
           s.unit_id IS NULL AS is_application, s.label, s.latest, coalesce(k.label, '') AS own_label,
           coalesce(k.tracked, 0) AS tracked,
           ARRAY(SELECT v.revision FROM secret_revision v WHERE v.secret_id = s.id ORDER BY v.revision) AS revisions
      FROM unit u JOIN application a ON a.id = u.application_id
      JOIN secret s ON s.namespace = u.namespace AND s.name = ANY ($2::text[])
      LEFT JOIN secret_reader k ON k.secret_id = s.id AND k.unit_id = u.id
     WHERE u.id = $1::text::uuid
"""  # noqa: S608
LABELS = """
    SELECT s.name, s.owner, s.label FROM unit u JOIN application a ON a.id = u.application_id
      JOIN secret s ON s.namespace = u.namespace AND s.owner IN (u.name, a.name) AND s.label <> ''
     WHERE u.id = $1::text::uuid
     UNION ALL
    SELECT s.name, '', k.label FROM secret_reader k JOIN secret s ON s.id = k.secret_id
     WHERE k.unit_id = $1::text::uuid AND k.label <> ''
"""
COUNT = {
    Owner.UNIT: "SELECT count(*) AS n FROM secret WHERE unit_id = $1::text::uuid",
    Owner.APPLICATION: """
        SELECT count(*) AS n FROM secret WHERE unit_id IS NULL
           AND application_id = (SELECT application_id FROM unit WHERE id = $1::text::uuid)
    """,
}
_INSERT = f"""
    INSERT INTO secret (namespace, name, application_id, unit_id, owner, label, description, rotation, rotates_at)
    SELECT u.namespace, $2, u.application_id, CASE WHEN NOT $3 THEN u.id END, CASE WHEN $3 THEN a.name ELSE u.name END,
           $4, $5, $6, {rotations.after_now("$6")}
      FROM unit u JOIN application a ON a.id = u.application_id WHERE u.id = $1::text::uuid
    RETURNING CAST(id AS text) AS id
"""  # noqa: S608
# The row is updated even if none of its columns changes, so that a change of its dependent rows makes an event.
_UPDATE = f"""
    UPDATE secret s
       SET label = coalesce($2, label), description = coalesce($3, description), rotation = coalesce($4, rotation),
           rotates_at = CASE WHEN $4 IS NULL THEN rotates_at ELSE {rotations.after_now("$4")} END, latest = $5
     WHERE id = $1::text::uuid
"""  # noqa: S608
_ADD_REVISION = "INSERT INTO secret_revision (secret_id, revision, expires_at) VALUES ($1::text::uuid, $2, $3)"
_EXPIRE = "UPDATE secret_revision SET expires_at = $3 WHERE secret_id = $1::text::uuid AND revision = $2"
_DROP_REVISIONS = "DELETE FROM secret_revision WHERE secret_id = $1::text::uuid AND revision = ANY ($2::bigint[])"
_DROP = "DELETE FROM secret WHERE id = $1::text::uuid"
_GRANT = """
    INSERT INTO secret_grant (secret_id, relation_id, application_id, unit_id)
    SELECT s.id, r.id, o.id, x.id
      FROM secret s JOIN relation r ON r.namespace = s.namespace AND r.number = $2
      JOIN application o ON o.namespace = s.namespace AND o.name = $3
      LEFT JOIN unit x ON x.namespace = s.namespace AND x.name = $4
     WHERE s.id = $1::text::uuid AND ($4 = '' OR x.id IS NOT NULL)
        ON CONFLICT DO NOTHING
"""
_REVOKE = """
    DELETE FROM secret_grant g USING secret s
     WHERE s.id = $1::text::uuid AND g.secret_id = s.id
       AND ($2 = 0 OR g.relation_id = (SELECT id FROM relation WHERE namespace = s.namespace AND number = $2))
       AND ($3 = '' OR g.application_id = (SELECT id FROM application WHERE namespace = s.namespace AND name = $3))
       AND ($4 = '' OR g.unit_id = (SELECT id FROM unit WHERE namespace = s.namespace AND name = $4))
"""
_LABEL = """
    INSERT INTO secret_reader (secret_id, unit_id, label) VALUES ($1::text::uuid, $2::text::uuid, $3)
        ON CONFLICT (secret_id, unit_id) DO UPDATE SET label = excluded.label
"""
_FREE_LABELS = "UPDATE secret SET label = '' WHERE id = ANY ($1::text[]::uuid[])"
_FREE_OWN_LABELS = """
    UPDATE secret_reader SET label = '' WHERE unit_id = $1::text::uuid AND secret_id = ANY ($2::text[]::uuid[])
"""
# Updates the row once more, which tells the owner that no unit reads the revision.
_LEAVE = """
    UPDATE secret s SET latest = latest
     WHERE s.id = $1::text::uuid AND $2 < s.latest
       AND NOT EXISTS (SELECT FROM secret_reader k
                        WHERE k.secret_id = s.id AND k.tracked = $2 AND k.unit_id <> $3::text::uuid)
"""
_RENEW = """
    UPDATE secret_reader SET expired = array_remove(expired, $2)
     WHERE secret_id = $1::text::uuid AND $2 = ANY (expired)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A locked secret as a unit sees it. `own_label` and `tracked` are the unit's."""

    id: str
    name: str
    is_owned: bool
    is_readable: bool
    is_application: bool
    label: str
    latest: int
    own_label: str
    tracked: int
    revisions: Sequence[int]


@dataclass(frozen=True, slots=True)
class Label:
    """A label that is taken: its secret, and its owner, empty for the unit's own label for another's secret."""

    name: str
    owner: str
    label: str


async def lock(transaction: Transaction, unit_id: str, namespace: str, names: Sequence[str]) -> Mapping[str, Stored]:
    """Lock secrets in the order of their ids, and return the existing ones by name."""
    if not await transaction.fetch(LOCK, namespace, list(names)):
        return {}
    found = await transaction.fetch(FIND, unit_id, list(names))
    return {row["name"]: Stored(**dict(row) | {"revisions": tuple(row["revisions"])}) for row in found}


async def labels(transaction: Transaction, unit_id: str) -> Sequence[Label]:
    """Return the labels that are taken for a unit: of its own, its application's, and the secrets that it reads."""
    return [Label(**dict(row)) for row in await transaction.fetch(LABELS, unit_id)]


async def count(transaction: Transaction, unit_id: str, owner: Owner) -> int:
    """Return the number of secrets that a unit, or its application, owns."""
    return int((await transaction.fetch(COUNT[owner], unit_id))[0]["n"])


async def insert(
    transaction: Transaction,
    unit_id: str,
    name: str,
    *,
    is_application: bool,
    label: str,
    description: str,
    rotation: Rotation,
) -> str:
    """Create a secret of a unit or of its application, without a revision, and return its id."""
    values = (name, is_application, label, description, rotation.value)
    return str((await transaction.fetch(_INSERT, unit_id, *values))[0]["id"])


async def update(
    transaction: Transaction,
    secret_id: str,
    *,
    label: str | None,
    description: str | None,
    rotation: Rotation | None,
    latest: int,
) -> None:
    """Change the metadata of a secret. A value that is None stays."""
    value = rotation.value if rotation is not None else None
    await transaction.fetch(_UPDATE, secret_id, label, description, value, latest)


async def add_revision(
    transaction: Transaction, secret_id: str, revision: int, expires_at: datetime.datetime | None
) -> None:
    """Add a revision, whose content is sealed beside it."""
    await transaction.fetch(_ADD_REVISION, secret_id, revision, expires_at)


async def expire(transaction: Transaction, secret_id: str, revision: int, expires_at: datetime.datetime) -> None:
    """Change the expiry of a revision."""
    await transaction.fetch(_EXPIRE, secret_id, revision, expires_at)


async def drop_revisions(transaction: Transaction, secret_id: str, revisions: Sequence[int]) -> None:
    """Remove revisions and their sealed content."""
    await transaction.fetch(_DROP_REVISIONS, secret_id, list(revisions))


async def drop(transaction: Transaction, secret_id: str) -> None:
    """Remove a secret and all of its dependent rows."""
    await transaction.fetch(_DROP, secret_id)


async def grant(transaction: Transaction, secret_id: str, relation: int, application: str, unit: str) -> None:
    """Let an application, or one unit of it, read a secret. Raises `LookAgain` if one of them is gone."""
    with look_again():
        await transaction.fetch(_GRANT, secret_id, relation, application, unit)


async def revoke(transaction: Transaction, secret_id: str, relation: int, application: str, unit: str) -> None:
    """Revoke the grants that match. Relation 0 and empty names stand for all."""
    await transaction.fetch(_REVOKE, secret_id, relation, application, unit)


async def set_label(transaction: Transaction, secret_id: str, unit_id: str, label: str) -> None:
    """Set the label that a unit has for a secret."""
    with look_again():
        await transaction.fetch(_LABEL, secret_id, unit_id, label)


async def free_labels(transaction: Transaction, secret_ids: Sequence[str]) -> None:
    """Remove the labels of locked secrets."""
    await transaction.fetch(_FREE_LABELS, list(secret_ids))


async def free_own_labels(transaction: Transaction, unit_id: str, secret_ids: Sequence[str]) -> None:
    """Remove the labels that a unit has for secrets."""
    await transaction.fetch(_FREE_OWN_LABELS, unit_id, list(secret_ids))


async def leave(transaction: Transaction, secret_id: str, revision: int, unit_id: str) -> None:
    """Report that a revision is unused if the unit, which reads another one from now on, was its last reader."""
    await transaction.fetch(_LEAVE, secret_id, revision, unit_id)


async def renew(transaction: Transaction, secret_id: str, revision: int) -> None:
    """Report once more to owners that a revision has expired."""
    await transaction.fetch(_RENEW, secret_id, revision)
