"""The states of applications, units, relations, storages, unit events and tasks, with the allowed transitions.

Triggers of the database refuse all other transitions, whoever writes; `docs/reference/states.md` shows the same tables.
"""

from collections.abc import Mapping

from tinkwell.core.unit.kinds import EventState, Life, Phase, TaskState

_E, _T = EventState, TaskState

# Lives and phases only go forward, and may skip states.
LIFE: Mapping[Life, frozenset[Life]] = {
    Life.ALIVE: frozenset({Life.DYING, Life.DEAD}),
    Life.DYING: frozenset({Life.DEAD}),
    Life.DEAD: frozenset(),
}
PHASE: Mapping[Phase, frozenset[Phase]] = {
    Phase.WAITING: frozenset({Phase.SETUP, Phase.OPERATION, Phase.TEARDOWN}),
    Phase.SETUP: frozenset({Phase.OPERATION, Phase.TEARDOWN}),
    Phase.OPERATION: frozenset({Phase.TEARDOWN}),
    Phase.TEARDOWN: frozenset(),
}
EVENT: Mapping[EventState, frozenset[EventState]] = {
    # RUNNING to RUNNING: the attempt was lost, and the next attempt runs.
    _E.RUNNING: frozenset({_E.RUNNING, _E.ERROR, _E.COMMITTED, _E.SKIPPED, _E.WITHDRAWN, _E.ABANDONED}),
    _E.ERROR: frozenset({_E.RUNNING, _E.SKIPPED, _E.WITHDRAWN, _E.ABANDONED}),
    _E.COMMITTED: frozenset(),
    _E.SKIPPED: frozenset(),
    _E.WITHDRAWN: frozenset(),
    _E.ABANDONED: frozenset(),
}
TASK: Mapping[TaskState, frozenset[TaskState]] = {
    _T.PENDING: frozenset({_T.RUNNING, _T.CANCELLED}),
    _T.RUNNING: frozenset({_T.SUCCEEDED, _T.FAILED, _T.TIMEOUT, _T.CANCELLED}),
    _T.SUCCEEDED: frozenset(),
    _T.FAILED: frozenset(),
    _T.TIMEOUT: frozenset(),
    _T.CANCELLED: frozenset(),
}
