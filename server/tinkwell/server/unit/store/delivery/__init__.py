"""The SQL of units' events: the state that decides on them, and the changes of a grant, a commit and a failure.

The caller has locked the unit's row, and the application's before it and the relation's after it if they are needed;
see `lock`. After the locks, one statement reads everything.
"""

from tinkwell.server.unit.store.delivery.change import apply
from tinkwell.server.unit.store.delivery.event import (
    HANDED_BACK,
    end_event,
    hand_back,
    retry_event,
    retry_in,
    take_over,
    write_event,
)
from tinkwell.server.unit.store.delivery.lock import lock_application, lock_relation, lock_unit
from tinkwell.server.unit.store.delivery.look_again import LookAgain
from tinkwell.server.unit.store.delivery.looked import Looked, look
from tinkwell.server.unit.store.delivery.row import ApplicationRow, EventRow, Loaded, NewEvent, Settings, UnitRow
from tinkwell.server.unit.store.delivery.state import load
from tinkwell.server.unit.store.delivery.told import save

__all__ = [
    "HANDED_BACK",
    "ApplicationRow",
    "EventRow",
    "Loaded",
    "LookAgain",
    "Looked",
    "NewEvent",
    "Settings",
    "UnitRow",
    "apply",
    "end_event",
    "hand_back",
    "load",
    "lock_application",
    "lock_relation",
    "lock_unit",
    "look",
    "retry_event",
    "retry_in",
    "save",
    "take_over",
    "write_event",
]
