"""What happens to an event that failed or was lost: this is decided before each further attempt.

    the event                                   its cause is gone when                              then
    the second of a forced pair or chain        the unit, or its relation, is dying                 SKIP
    none of the teardown                        the unit is dying                                   WITHDRAW
    leader-elected                              the unit no longer leads in that term               WITHDRAW
    leader-settings-changed                     the unit leads now                                  WITHDRAW
    relation-created, -joined, -changed         the relation is dying, or the remote unit is not    WITHDRAW
                                                visible; for an echo: no members are left
    storage-attached                            the storage is dying                                WITHDRAW
    secret-changed                              the secret is gone, or the unit may not read it     WITHDRAW
    secret-rotate                               the secret is gone, or not the unit's, for example  WITHDRAW
                                                because the unit no longer leads
    secret-expired, -remove                     the same, or the revision is gone                   WITHDRAW
    otherwise                                   never                                               RETRY

For the second of a forced pair or chain only the first row counts. An event whose cause still exists is tried again.
"""

from tinkwell.core.unit.kinds import EventKind, Life, Verdict
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import relation, secret
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View


def verdict(event: UnitEvent, ledger: Ledger, view: View) -> Verdict:
    """Return what happens to an event that failed or was lost. `event` has what its last attempt saw.

    SKIP also skips the rest of the ledger's queue, whose head is this event.
    """
    if ledger.queue and ledger.queue[0].tells_same(event):
        is_over = event.relation != 0 and not _lives(event, view)
        return Verdict.SKIP if view.is_dying or is_over else Verdict.RETRY
    if view.is_dying and not event.kind.is_teardown:
        return Verdict.WITHDRAW
    return Verdict.RETRY if _stands(event, ledger, view) else Verdict.WITHDRAW


def _stands(event: UnitEvent, ledger: Ledger, view: View) -> bool:
    """Whether the cause of an event still exists, for a living unit or one in teardown."""
    match event.kind:
        case EventKind.LEADER_ELECTED:
            return view.leads and view.term == event.seen.term
        case EventKind.LEADER_SETTINGS_CHANGED:
            return not view.leads
        case EventKind.RELATION_CREATED:
            return _lives(event, view)
        case EventKind.RELATION_JOINED | EventKind.RELATION_CHANGED:
            return _lives(event, view) and _has_other_side(event, ledger, view)
        case EventKind.STORAGE_ATTACHED:
            return view.storages.get(event.storage) is Life.ALIVE
        case _ if event.kind.is_secret:
            return secret.stands(event, view)
        case _:
            return True


def _lives(event: UnitEvent, view: View) -> bool:
    return event.relation in view.relations and view.relations[event.relation].life is Life.ALIVE


def _has_other_side(event: UnitEvent, ledger: Ledger, view: View) -> bool:
    """Whether the other side of relation-joined or -changed is there.

    An application's bag lives as long as its relation.
    """
    if event.is_echo:
        return relation.has_members(ledger.relations.get(event.relation, relation.NEVER_TOLD))
    if not event.unit:
        return True
    member = view.relations[event.relation].members.get(event.unit)
    return member is not None and member.is_visible
