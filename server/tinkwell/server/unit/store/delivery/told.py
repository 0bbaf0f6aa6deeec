"""Writes the changes of a ledger as the difference to its former state."""

from collections.abc import Mapping

from tinkwell.core.unit.ledger import NEVER_READ, Ledger, MemberLedger, RelationLedger
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store import ledger as document
from tinkwell.server.unit.store.delivery.look_again import look_again

UNIT = """
    UPDATE unit
       SET is_installed = $2, is_started = $3, is_stopped = $4, is_removed = $5, config_seen = $6,
           charm_seen = nullif($7, ''), led_term = $8, settings_term = $9, plan = $10::text::json,
           queue = $11::text::json, prepare_seen = $12, finish_seen = $13, metrics_seen = $14
     WHERE id = $1::text::uuid
"""
ATTACH = """
    UPDATE storage SET is_attached = name = ANY ($2::text[])
     WHERE unit_id = $1::text::uuid AND name = ANY ($3::text[])
"""
RELATION = """
    INSERT INTO unit_relation AS t (unit_id, relation_id, is_created, is_broken, application_version, own_version)
    SELECT u.id, r.id, $3, $4, $5, $6
      FROM unit u JOIN relation r ON r.namespace = u.namespace AND r.number = $2
     WHERE u.id = $1::text::uuid
        ON CONFLICT (unit_id, relation_id) DO UPDATE
       SET is_created = excluded.is_created, is_broken = excluded.is_broken,
           application_version = excluded.application_version, own_version = excluded.own_version
"""
MEMBERS = """
    INSERT INTO unit_member AS m (unit_id, relation_id, member_id, seen_version, is_older, is_told)
    SELECT u.id, r.id, x.id, given.version, given.is_older, true
      FROM unnest($3::text[], $4::bigint[], $5::boolean[]) AS given (name, version, is_older)
      JOIN unit u ON u.id = $1::text::uuid
      JOIN relation r ON r.namespace = u.namespace AND r.number = $2
      JOIN unit x ON x.namespace = u.namespace AND x.name = given.name
        ON CONFLICT (unit_id, relation_id, member_id) DO UPDATE
       SET seen_version = excluded.seen_version, is_older = excluded.is_older, is_told = true
"""
DEPART = """
    DELETE FROM unit_member m USING unit u, relation r, unit x
     WHERE u.id = $1::text::uuid AND r.namespace = u.namespace AND r.number = $2
       AND x.namespace = u.namespace AND x.name = ANY ($3::text[])
       AND m.unit_id = u.id AND m.relation_id = r.id AND m.member_id = x.id
"""
SECRETS = """
    INSERT INTO secret_reader AS k (secret_id, unit_id, tracked, told, expired, removed)
    SELECT s.id, u.id, $3, $4, $5::bigint[], $6::bigint[]
      FROM unit u JOIN secret s ON s.namespace = u.namespace AND s.name = $2
     WHERE u.id = $1::text::uuid
        ON CONFLICT (secret_id, unit_id) DO UPDATE
       SET tracked = excluded.tracked, told = excluded.told, expired = excluded.expired, removed = excluded.removed
"""
_NOTHING = RelationLedger(created=False)


async def save(transaction: Transaction, unit_id: str, before: Ledger, after: Ledger) -> None:
    """Write the difference between a unit's ledger as it was read under its lock, and as it is now.

    Raises `LookAgain` if a row that the ledger refers to is gone.
    """
    with look_again():
        await _save(transaction, unit_id, before, after)


async def _save(transaction: Transaction, unit_id: str, before: Ledger, after: Ledger) -> None:
    if _own(before) != _own(after):
        await transaction.fetch(UNIT, unit_id, *_own(after))
    if changed := before.attached ^ after.attached:
        await transaction.fetch(ATTACH, unit_id, sorted(after.attached), sorted(changed))
    for number, told in after.relations.items():
        former = before.relations.get(number)
        if told is not former:
            await _save_relation(transaction, unit_id, number, former or _NOTHING, told, is_new=former is None)
    for name, known in after.secrets.items():
        if known != before.secrets.get(name, NEVER_READ):
            revisions = sorted(known.expired), sorted(known.removed)
            await transaction.fetch(SECRETS, unit_id, name, known.tracked, known.told, *revisions)


def _own(ledger: Ledger) -> tuple[object, ...]:
    """Return the fields of a ledger that the unit's own row stores."""
    return (
        ledger.installed,
        ledger.started,
        ledger.stopped,
        ledger.removed,
        ledger.config_seen,
        ledger.charm_seen,
        ledger.led_term,
        ledger.settings_term,
        document.dump_plan(ledger.plan),
        document.dump_queue(ledger.queue),
        ledger.requests.prepared,
        ledger.requests.finished,
        ledger.requests.metrics,
    )


async def _save_relation(
    transaction: Transaction, unit_id: str, number: int, before: RelationLedger, after: RelationLedger, *, is_new: bool
) -> None:
    if is_new or _scalars(before) != _scalars(after):
        await transaction.fetch(RELATION, unit_id, number, *_scalars(after))
    told: Mapping[str, MemberLedger] = {
        unit: member for unit, member in after.members.items() if before.members.get(unit) != member
    }
    if told:
        versions = [member.seen_version for member in told.values()]
        older = [member.is_older for member in told.values()]
        await transaction.fetch(MEMBERS, unit_id, number, list(told), versions, older)
    if gone := sorted(before.members.keys() - after.members.keys()):
        await transaction.fetch(DEPART, unit_id, number, gone)


def _scalars(told: RelationLedger) -> tuple[bool, bool, int, int]:
    return told.created, told.broken, told.application_version, told.own_version
