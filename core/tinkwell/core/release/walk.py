"""In which order the nodes of a plan are worked on, given their states.

A node may start once those that it comes after are done, and a removal only once everything is installed: what is to
go stays where not everything that replaces it is there. Ready ones start in the order of the plan, at most `parallel`
at once. A node that comes after one that has failed or was skipped never starts, and neither do those after it.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core.release.kinds import NodeState, NodeTask
from tinkwell.core.release.plan import Plan, PlanNode

DONE = (NodeState.READY, NodeState.REMOVED, NodeState.LEFT)
BEGUN = (NodeState.INSTALLING, NodeState.REMOVING)
_DEAD = (NodeState.FAILED, NodeState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Blocker:
    """A node that another one waits for, or because of which it never starts."""

    path: str
    state: NodeState

    def __str__(self) -> str:
        return f"{self.path} is {self.state}"


def startable(plan: Plan, states: Mapping[str, NodeState], *, parallel: int) -> tuple[str, ...]:
    """Return the nodes that may start now, in the order of the plan; `parallel` bounds how many are begun at once."""
    vacant = parallel - sum(state in BEGUN for state in states.values())
    if vacant <= 0:
        return ()
    return ready(plan, states)[:vacant]


def ready(plan: Plan, states: Mapping[str, NodeState]) -> tuple[str, ...]:
    """Return the PENDING nodes that wait for no other one, in the order of the plan."""
    is_installed = _is_installed(plan, states)
    return tuple(
        node.path
        for node in plan.nodes
        if states[node.path] is NodeState.PENDING
        and (is_installed or node.task is NodeTask.INSTALL)
        and all(states[path] in DONE for path in node.after)
    )


def hopeless(plan: Plan, states: Mapping[str, NodeState]) -> tuple[tuple[str, Blocker], ...]:
    """Return the PENDING nodes that can never start, each with what is in its way, in the order of the plan."""
    dead = [node for node in plan.nodes if states[node.path] in _DEAD]
    if not dead:
        return ()
    found = _removals_behind(plan, states, dead)
    followers = _followers(plan)
    waiting = deque((node.path, Blocker(node.path, states[node.path])) for node in dead)
    while waiting:
        path, blocker = waiting.popleft()
        for follower in followers[path]:
            if follower not in found and states[follower] is NodeState.PENDING:
                found[follower] = blocker
                waiting.append((follower, blocker))
    return tuple((node.path, found[node.path]) for node in plan.nodes if node.path in found)


def waits_for(plan: Plan, states: Mapping[str, NodeState], path: str) -> tuple[Blocker, ...]:
    """Return what a PENDING node waits for, in the order of the plan; nothing where it may start or has started."""
    if states[path] is not NodeState.PENDING:
        return ()
    node = next(node for node in plan.nodes if node.path == path)
    return tuple(
        Blocker(other.path, states[other.path])
        for other in plan.nodes
        if states[other.path] not in DONE and _comes_before(other, node)
    )


def _comes_before(other: PlanNode, node: PlanNode) -> bool:
    is_removed_later = node.task is NodeTask.REMOVE and other.task is NodeTask.INSTALL
    return is_removed_later or other.path in node.after


def _is_installed(plan: Plan, states: Mapping[str, NodeState]) -> bool:
    return all(states[node.path] in DONE for node in plan.nodes if node.task is NodeTask.INSTALL)


def _removals_behind(plan: Plan, states: Mapping[str, NodeState], dead: Sequence[PlanNode]) -> dict[str, Blocker]:
    """Return the PENDING removals, all of them, if anything that was to be installed is not going to be there."""
    missing = next((node.path for node in dead if node.task is NodeTask.INSTALL), None)
    if missing is None:
        return {}
    removals = (node.path for node in plan.nodes if node.task is NodeTask.REMOVE)
    return {path: Blocker(missing, states[missing]) for path in removals if states[path] is NodeState.PENDING}


def _followers(plan: Plan) -> Mapping[str, list[str]]:
    """Return which nodes come after each."""
    followers: dict[str, list[str]] = {node.path: [] for node in plan.nodes}
    for node in plan.nodes:
        for path in node.after:
            followers[path].append(node.path)
    return followers
