"""What a turn knows of its unit after it has committed an event: what it read before, with the changes of the commit.

Other transactions may have changed more in the meantime. After them the unit is named to its agent.
"""

import dataclasses

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.ledger import Ledger, Written
from tinkwell.core.unit.resolver import change
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.server.unit.store.delivery import Loaded

# These events set the next time of `update-status`.
TICKS = frozenset({EventKind.START, EventKind.UPDATE_STATUS})
# The unit sees the relations and storages of the charm that it was last told of, and this event changes that charm.
_OTHER_CHARM = EventKind.UPGRADE_CHARM


def stays(event: UnitEvent, view: View) -> bool:
    """Whether the commit of an event changes nothing of a unit's view, except what it was told and has written."""
    return event.kind not in TICKS and event.kind is not _OTHER_CHARM and not change.committed(event, view)


def after(loaded: Loaded, ledger: Ledger, written: Written) -> Loaded:
    """Return what a commit leaves, given the new ledger and the written bags. Each written bag is one version on."""
    relations = dict(loaded.view.relations)
    for number in written.own & relations.keys():
        relation = relations[number]
        relations[number] = dataclasses.replace(relation, own_version=relation.own_version + 1)
    for number in written.peer_application & relations.keys():
        relation = relations[number]
        relations[number] = dataclasses.replace(relation, application_version=relation.application_version + 1)
    view = dataclasses.replace(loaded.view, relations=relations)
    ordinal = loaded.in_flight.ordinal if loaded.in_flight is not None else loaded.committed_ordinal
    return dataclasses.replace(loaded, ledger=ledger, view=view, in_flight=None, committed_ordinal=ordinal)
