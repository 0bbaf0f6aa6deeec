"""The states of releases, revisions, operations, nodes and steps, with the allowed transitions.

The tables are complete. `transition` decides when a move is due, and makes only moves of these tables. Triggers of the
database refuse all other moves, whoever writes. `docs/reference/states.md` shows the same tables.
"""

from collections.abc import Mapping
from typing import TypeVar

from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, ReleaseState, RevisionState

S = TypeVar("S")

_R, _V, _N = ReleaseState, RevisionState, NodeState

RELEASE: Mapping[ReleaseState, frozenset[ReleaseState]] = {
    # It is deleted with its last plan, unless it is installed before.
    _R.PLANNED: frozenset({_R.PENDING_INSTALL}),
    _R.PENDING_INSTALL: frozenset({_R.DEPLOYED, _R.FAILED}),
    # To DEPLOYED or FAILED also if the operation ended before it had a plan.
    _R.PENDING_UPGRADE: frozenset({_R.DEPLOYED, _R.FAILED}),
    _R.PENDING_ROLLBACK: frozenset({_R.DEPLOYED, _R.FAILED}),
    _R.DEPLOYED: frozenset({_R.PENDING_UPGRADE, _R.PENDING_ROLLBACK, _R.UNINSTALLING}),
    # PENDING_INSTALL: a first install is repeated or resumed.
    _R.FAILED: frozenset({_R.PENDING_INSTALL, _R.PENDING_UPGRADE, _R.PENDING_ROLLBACK, _R.UNINSTALLING}),
    _R.UNINSTALLING: frozenset({_R.UNINSTALLED, _R.FAILED, _R.DEPLOYED}),
    _R.UNINSTALLED: frozenset(),
}
REVISION: Mapping[RevisionState, frozenset[RevisionState]] = {
    _V.PENDING: frozenset({_V.DEPLOYED, _V.FAILED}),
    _V.FAILED: frozenset({_V.PENDING, _V.UNINSTALLED}),
    # SUPERSEDED only in the transaction in which another revision becomes DEPLOYED.
    _V.DEPLOYED: frozenset({_V.SUPERSEDED, _V.UNINSTALLED}),
    # A rollback makes a new revision, so an old one never returns.
    _V.SUPERSEDED: frozenset(),
    _V.UNINSTALLED: frozenset(),
}
OPERATION: Mapping[State, frozenset[State]] = {
    State.PENDING: frozenset({State.RUNNING, State.CANCELLED, State.TIMEOUT}),
    State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.TIMEOUT, State.CANCELLED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.TIMEOUT: frozenset(),
    State.CANCELLED: frozenset(),
}
NODE: Mapping[NodeState, frozenset[NodeState]] = {
    _N.PENDING: frozenset({_N.INSTALLING, _N.REMOVING, _N.SKIPPED, _N.LEFT, _N.FAILED}),
    _N.INSTALLING: frozenset({_N.READY, _N.FAILED}),
    _N.REMOVING: frozenset({_N.REMOVED, _N.FAILED}),
    _N.READY: frozenset(),
    _N.FAILED: frozenset(),
    _N.SKIPPED: frozenset(),
    _N.REMOVED: frozenset(),
    _N.LEFT: frozenset(),
}
STEP: Mapping[State, frozenset[State]] = {
    State.PENDING: frozenset({State.RUNNING, State.CANCELLED}),
    # PENDING: the attempt failed, and another attempt follows.
    State.RUNNING: frozenset({State.PENDING, State.SUCCEEDED, State.FAILED, State.TIMEOUT, State.CANCELLED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.TIMEOUT: frozenset(),
    State.CANCELLED: frozenset(),
}


def may_follow(table: Mapping[S, frozenset[S]], source: S, target: S) -> bool:
    """Return whether `target` may follow `source`; a state may always stay the same."""
    return source == target or target in table[source]
