"""The invariants of a unit's life, checked on the entries that Watch shows.

`audit` takes entries of the log and returns each violation. Tests, the command line and the chaos runs use it.
"""

from tinkwell.core.unit.invariant.audit import CHECKS, audit, gather, judge
from tinkwell.core.unit.invariant.history import History
from tinkwell.core.unit.invariant.record import Entry
from tinkwell.core.unit.invariant.violation import Violation

__all__ = ["CHECKS", "Entry", "History", "Violation", "audit", "gather", "judge"]
