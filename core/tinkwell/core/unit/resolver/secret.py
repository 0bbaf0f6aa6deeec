"""The next event of a unit's secrets, and whether a failed event of a secret is still valid."""

from collections.abc import Iterator

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.ledger import NEVER_READ, Ledger, SecretLedger
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import SecretView, View


def operation(ledger: Ledger, view: View) -> UnitEvent | None:
    """Return the next event of a secret, None if none is due. An owner is not told of its own new revisions."""
    return next(_changed(ledger, view), None) or next(_owned(ledger, view), None)


def _changed(ledger: Ledger, view: View) -> Iterator[UnitEvent]:
    for each, told in _by_id(ledger, view):
        if each.is_granted and not each.is_owner and told.tracked > 0 and max(told.tracked, told.told) < each.latest:
            yield UnitEvent(kind=EventKind.SECRET_CHANGED, secret=each.id, revision=each.latest)


def _owned(ledger: Ledger, view: View) -> Iterator[UnitEvent]:
    owned = [(each, told) for each, told in _by_id(ledger, view) if each.is_owner]
    for each, _ in owned:
        if each.is_rotation_due:
            yield UnitEvent(kind=EventKind.SECRET_ROTATE, secret=each.id)
    for each, told in owned:
        for revision in sorted(each.revisions):
            if each.revisions[revision].is_expired and revision not in told.expired:
                yield UnitEvent(kind=EventKind.SECRET_EXPIRED, secret=each.id, revision=revision)
    for each, told in owned:
        for revision in sorted(each.revisions):
            if not each.revisions[revision].is_used and revision not in told.removed:
                yield UnitEvent(kind=EventKind.SECRET_REMOVE, secret=each.id, revision=revision)


def stands(event: UnitEvent, view: View) -> bool:
    """Whether the revision that an event tells of still exists, and the unit may still be told of it."""
    shown = view.secrets.get(event.secret)
    if shown is None:
        return False
    if event.kind is EventKind.SECRET_CHANGED:
        return shown.is_granted
    return shown.is_owner and (not event.kind.is_of_revision or event.revision in shown.revisions)


def _by_id(ledger: Ledger, view: View) -> Iterator[tuple[SecretView, SecretLedger]]:
    return ((view.secrets[each], ledger.secrets.get(each, NEVER_READ)) for each in sorted(view.secrets))
