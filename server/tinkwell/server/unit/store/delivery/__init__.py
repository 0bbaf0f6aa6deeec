"""The SQL of what a unit is told: what it is decided on, and what a grant, a commit and a failure write.

Who calls these has locked the unit's row (`lock`), and before that the application's, and after it the relation's,
where it has to; see `lock`. What is read is read by one statement, after the locks.
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
