"""I25: which units get the events of secrets, and for which revisions."""

from collections.abc import Iterator, Sequence

from tinkwell.core.unit.invariant.history import History, Told, UnitHistory, at
from tinkwell.core.unit.invariant.record import GrantRecord, SecretRecord
from tinkwell.core.unit.invariant.violation import Violation, of
from tinkwell.core.unit.kinds import EventKind

_K = EventKind


def secrets_come_in_operation(history: History) -> Iterator[Violation]:
    """I25: events of secrets come after `start`, and before the removal is asked for."""
    for unit, told in _events(history):
        if told.first_granted < unit.started:
            yield of("I25", unit, told, "it came before start")
        if told.granted > unit.dying:
            yield of("I25", unit, told, "it came after the removal was asked for")


def secrets_come_to_whom_they_concern(history: History) -> Iterator[Violation]:
    """I25: a reader that is not the owner gets `secret-changed`; the owner gets the other events."""
    for unit, told in _events(history):
        records = _seen_records(history, unit, told)
        if not records:
            continue
        if all(record.is_deleted for record in records):
            yield of("I25", unit, told, "the secret was gone")
        elif told.kind is not _K.SECRET_CHANGED:
            if not any(_owns(unit, record, told) for record in records):
                yield of("I25", unit, told, "the secret is not its own, nor its application's while it leads")
        elif all(_owns(unit, record, told, is_throughout=True) for record in records):
            yield of("I25", unit, told, "the secret is its own")
        elif not any(_may_read(history, unit, record, told) for record in records):
            yield of("I25", unit, told, "it was not granted the secret")


def changes_are_told_once(history: History) -> Iterator[Violation]:
    """I25: `secret-changed` tells of the newest revision, which is newer than the one that the unit was told of."""
    for unit in history.units:
        last: dict[str, int] = {}
        for told in unit.stream:
            if told.kind is not _K.SECRET_CHANGED:
                continue
            secret, revision = told.record.secret, told.record.secret_revision
            if revision <= last.get(secret, 0):
                yield of("I25", unit, told, f"it tells of revision {revision}, and {last[secret]} was told before")
            known = [record.latest for record in _seen_records(history, unit, told)]
            if known and not min(known) <= revision <= max(known):
                yield of("I25", unit, told, f"it tells of revision {revision}, and {max(known)} is the newest one")
            last[secret] = revision


def what_nobody_reads_is_told_once(history: History) -> Iterator[Violation]:
    """I25: `secret-remove` tells once of a revision, which is not the newest one."""
    for unit in history.units:
        removed: set[tuple[str, int]] = set()
        for told in unit.stream:
            if told.kind is not _K.SECRET_REMOVE:
                continue
            secret, revision = told.record.secret, told.record.secret_revision
            if (secret, revision) in removed:
                yield of("I25", unit, told, f"revision {revision} was told before")
            known = [record.latest for record in _seen_records(history, unit, told)]
            if known and revision >= max(known):
                yield of("I25", unit, told, f"revision {revision} is the newest one")
            removed.add((secret, revision))


def rotation_was_wanted(history: History) -> Iterator[Violation]:
    """I25: `secret-rotate` comes only for secrets with a rotation interval."""
    for unit, told in _events(history):
        records = _seen_records(history, unit, told)
        if told.kind is _K.SECRET_ROTATE and records and not any(record.is_rotated for record in records):
            yield of("I25", unit, told, "nobody wanted it to be rotated")


def _events(history: History) -> Iterator[tuple[UnitHistory, Told]]:
    return ((unit, told) for unit in history.units for told in unit.stream if told.kind.is_secret)


def _seen_records(history: History, unit: UnitHistory, told: Told) -> Sequence[SecretRecord]:
    """Return the records of the event's secret that the last attempt's grant may have seen.

    These are the record that it certainly saw, and the later ones. Empty if the secret was created before the first
    record.
    """
    records = history.secrets.get(told.record.secret, [])
    horizon = unit.horizon(told.granted)
    surely = at(records, horizon)
    return [*([surely] if surely else []), *(each for each in records if horizon < each.revision <= told.granted)]


def _owns(unit: UnitHistory, record: SecretRecord, told: Told, *, is_throughout: bool = False) -> bool:
    """Return whether a unit owned a secret at some time that the grant may have seen, or (`is_throughout`) always."""
    if record.owner != unit.application.name:
        return record.owner == unit.name
    horizon, records = unit.horizon(told.granted), unit.application.records
    leaders = [unit.application.at(horizon), *(each for each in records if horizon < each.revision <= told.granted)]
    return (all if is_throughout else any)(each.leader == unit.name for each in leaders)


def _may_read(history: History, unit: UnitHistory, record: SecretRecord, told: Told) -> bool:
    if record.grants is None or record.owner == unit.application.name:
        return True
    return any(_holds(history, unit, grant, unit.horizon(told.granted)) for grant in record.grants)


def _holds(history: History, unit: UnitHistory, grant: GrantRecord, horizon: int) -> bool:
    """Return whether a grant is for the unit, and had not certainly ended with its relation."""
    if grant.application != unit.application.name or grant.unit not in ("", unit.name):
        return False
    relation = history.relations.get(grant.relation)
    is_over = unit.broke(grant.relation) <= horizon or (relation is not None and relation.deleted <= horizon)
    return grant.relation == 0 or not is_over
