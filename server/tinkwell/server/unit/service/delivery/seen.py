"""What a turn has seen of its unit once it has committed an event: the same, but for what the commit itself changes.

Others may have changed more meanwhile. They do so in transactions of their own, after which the unit is named to its
agent.
"""

import dataclasses

from tinkwell.core.unit.kinds import EventKind
from tinkwell.core.unit.ledger import Ledger, Written
from tinkwell.core.unit.resolver import change
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.server.unit.store.delivery import Loaded

# With these `update-status` is due at another time.
TICKS = frozenset({EventKind.START, EventKind.UPDATE_STATUS})
# Seen are the relations and storages of the charm that it was told of last, which is another one after this.
_OTHER_CHARM = EventKind.UPGRADE_CHARM


def stays(event: UnitEvent, view: View) -> bool:
    """Whether the commit of an event changes nothing that is seen of its unit, but what it has been told and writes."""
    return event.kind not in TICKS and event.kind is not _OTHER_CHARM and not change.committed(event, view)


def after(loaded: Loaded, ledger: Ledger, written: Written) -> Loaded:
    """Return what is seen after a commit that left a ledger, and wrote bags: each of them is one version on."""
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
