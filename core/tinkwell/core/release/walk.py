"""In which order the nodes of a plan are worked on, given their states.

A resource, a hook or an event may start once the nodes before it are done. Removals start only once everything is
installed: a resource to remove stays if not everything that replaces it is there. Ready nodes start in the order of the
plan, at most `parallel` at once. A node after one that has failed or was skipped never starts, and neither do the nodes
after it.

A chart opens with its `begin`, and closes once all nodes in it have ended, with or without success. Charts and events
do not count towards `parallel`.

How far a node of the plan is follows from the states of the real nodes, in one pass, because the plan is in order:

                         done                        ended                        never
    real                 READY, REMOVED, LEFT        any final state              FAILED, SKIPPED, or PENDING after one
    gate                 all before it are done      all before it have ended     one before it is never done
    barrier              all before it have ended    as done                      –
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core.release.kinds import NodeState, NodeTask, PlanKind
from tinkwell.core.release.plan import Plan, PlanNode

DONE = (NodeState.READY, NodeState.REMOVED, NodeState.LEFT)
BEGUN = (NodeState.INSTALLING, NodeState.REMOVING)
_DEAD = (NodeState.FAILED, NodeState.SKIPPED)


@dataclass(frozen=True, slots=True)
class Blocker:
    """A node that another one waits for, or because of which the other one never starts."""

    path: str
    state: NodeState

    def __str__(self) -> str:
        return f"{self.path} is {self.state}"


@dataclass(frozen=True, slots=True)
class Closing:
    """A chart in which everything has ended; `blocker` prevents its success, None if nothing does."""

    path: str
    task: NodeTask
    blocker: Blocker | None


class Survey:
    """How far the nodes of a plan are, from the states of the real nodes."""

    def __init__(self, plan: Plan, states: Mapping[str, NodeState]) -> None:
        self._plan = plan
        self._states = states
        self._done: set[str] = set()
        self._ended: set[str] = set()
        # Nodes that are never done, each with the node to blame.
        self._never: dict[str, Blocker] = {}
        self.is_installed = all(states[node.path] in DONE for node in plan.installs)
        missing = next((node.path for node in plan.installs if states[node.path] in _DEAD), None)
        self._missing = None if missing is None else Blocker(missing, states[missing])
        for node in plan.nodes:
            if node.is_real:
                self._see_real(node, states[node.path])
            else:
                self._see_place(node)

    def startable(self, *, parallel: int) -> tuple[str, ...]:
        """Return the resources and hooks that may start now, in the order of the plan; at most `parallel` are begun."""
        vacant = parallel - sum(self._states[node.path] in BEGUN for node in self._plan.called)
        return self.ready()[:vacant] if vacant > 0 else ()

    def ready(self) -> tuple[str, ...]:
        """Return the PENDING resources and hooks that wait for no other node, in the order of the plan."""
        return self._ready(self._plan.called)

    def audible(self) -> tuple[str, ...]:
        """Return the events that may be emitted now, in the order of the plan."""
        return self._ready(self._plan.events)

    def opening(self) -> tuple[PlanNode, ...]:
        """Return the PENDING charts that begin now, parents first."""
        found = (
            node for node in self._plan.charts if self._may_begin(node) and (not node.begin or node.begin in self._done)
        )
        return tuple(sorted(found, key=lambda node: node.path.count(".")))

    def closing(self) -> tuple[Closing, ...]:
        """Return the charts that were begun and in which everything has ended, in the order of the plan."""
        return tuple(
            Closing(node.path, node.task, self._blame(node.after))
            for node in self._plan.charts
            if self._states[node.path] in BEGUN and all(path in self._ended for path in node.after)
        )

    def hopeless(self) -> tuple[tuple[str, Blocker], ...]:
        """Return the PENDING nodes that can never start, each with the node to blame, in the order of the plan."""
        if not self._never:
            return ()
        pending = (node.path for node in self._plan.real if self._states[node.path] is NodeState.PENDING)
        return tuple((path, self._never[path]) for path in pending if path in self._never)

    def waits_for(self, path: str) -> tuple[Blocker, ...]:
        """Return the real nodes that a PENDING node waits for, in the order of the plan; empty if it may start."""
        if self._states[path] is not NodeState.PENDING:
            return ()
        by_path = {node.path: node for node in self._plan.nodes}
        waited = self._unfinished(by_path, by_path[path])
        if by_path[path].task is NodeTask.REMOVE and not self.is_installed:
            waited |= {node.path for node in self._plan.installs if node.path not in self._done}
        return tuple(Blocker(each.path, self._states[each.path]) for each in self._plan.real if each.path in waited)

    def _ready(self, nodes: Iterable[PlanNode]) -> tuple[str, ...]:
        return tuple(
            node.path for node in nodes if self._may_begin(node) and all(path in self._done for path in node.after)
        )

    def _see_real(self, node: PlanNode, state: NodeState) -> None:
        if state in DONE:
            self._done.add(node.path)
        if state.is_final:
            self._ended.add(node.path)
        if state is NodeState.FAILED:
            # A chart fails through a node in it.
            inside = self._blame(node.after) if node.kind is PlanKind.CHART else None
            self._never[node.path] = inside or Blocker(node.path, state)
        elif state in (NodeState.PENDING, NodeState.SKIPPED):
            blocker = self._blame(_before(node)) or (self._missing if node.task is NodeTask.REMOVE else None)
            if blocker is not None:
                self._never[node.path] = blocker
            elif state is NodeState.SKIPPED:
                self._never[node.path] = Blocker(node.path, state)

    def _see_place(self, node: PlanNode) -> None:
        if all(path in self._ended for path in node.after):
            self._ended.add(node.path)
        if node.kind is PlanKind.BARRIER:
            if node.path in self._ended:
                self._done.add(node.path)
        elif all(path in self._done for path in node.after):
            self._done.add(node.path)
        elif (blocker := self._blame(node.after)) is not None:
            self._never[node.path] = blocker

    def _blame(self, paths: Iterable[str]) -> Blocker | None:
        """Return why one of these nodes is never done; None if all may be."""
        return next((self._never[path] for path in paths if path in self._never), None) if self._never else None

    def _may_begin(self, node: PlanNode) -> bool:
        is_due = self.is_installed or node.task is NodeTask.INSTALL
        return is_due and self._states[node.path] is NodeState.PENDING

    def _unfinished(self, by_path: Mapping[str, PlanNode], node: PlanNode) -> set[str]:
        """Return the real nodes that must end before a node starts, also through gates and barriers."""
        found: set[str] = set()
        seen: set[tuple[str, bool]] = set()
        # For a barrier it is enough that a node has ended.
        waiting = deque((path, False) for path in _before(node))
        while waiting:
            path, is_barred = waiting.popleft()
            if path in (self._ended if is_barred else self._done) or (path, is_barred) in seen:
                continue
            seen.add((path, is_barred))
            other = by_path[path]
            if other.is_real:
                found.add(path)
            else:
                waiting.extend((each, is_barred or other.kind is PlanKind.BARRIER) for each in other.after)
        return found


def waits_for(plan: Plan, states: Mapping[str, NodeState], path: str) -> tuple[Blocker, ...]:
    """Return the nodes that a PENDING node waits for, as `Survey.waits_for` does."""
    return Survey(plan, states).waits_for(path)


def _before(node: PlanNode) -> Sequence[str]:
    """Return the nodes before the start of a node."""
    if node.kind is not PlanKind.CHART:
        return node.after
    return (node.begin,) if node.begin else ()
