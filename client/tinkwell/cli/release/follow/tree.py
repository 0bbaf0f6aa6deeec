"""The state of one operation on a release while a user follows it, and sentences about it.

It takes lists, events and output lines in any order, and keeps the newest version of each node and step. It has no
clock, and reads nothing by itself.
"""

import dataclasses
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from tinkwell.cli.shell import log_line
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release import walk
from tinkwell.core.release.kinds import NodeKind, NodeState, StepKind
from tinkwell.core.release.manifest import name
from tinkwell.core.release.plan import Plan, PlanNode

if TYPE_CHECKING:
    from tinkwell.client import Event, LifecycleRun, Node, Operation, Step, StepLogLine

    Resource: TypeAlias = Operation | Node | Step | LifecycleRun

TAIL_LINES = 5
# With more nodes, the tree does not compute what each one waits for, because that takes quadratic time.
MAX_EXPLAINED_NODES = 1_000
_MAX_NAMED = 3
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_WORKING = (NodeState.INSTALLING, NodeState.REMOVING)


class Tree:
    """An operation, its nodes with their steps, and the last output lines of each node.

    Nodes are in the order of the plan. Before the operation has a plan, there are none.
    """

    def __init__(self, operation_id: str) -> None:
        self.operation_id = operation_id
        self.operation: Operation | None = None
        self._nodes: dict[str, Node] = {}
        self._steps: dict[str, dict[int, Step]] = {}
        self._runs: dict[str, LifecycleRun] = {}
        # By the path of a node: the step and attempt that printed last, and the last lines of their output.
        self._tails: dict[str, tuple[tuple[str, int], log_line.Tail]] = {}
        # The nodes with their steps, in the order of the plan, and the paths of those that have changed since.
        self._whole: dict[str, Node] = {}
        self._stale: set[str] = set()
        self._planned = Plan(())

    @property
    def is_over(self) -> bool:
        """Whether the operation has ended."""
        return self.operation is not None and self.operation.state.is_final

    @property
    def has_succeeded(self) -> bool:
        """Whether the operation has succeeded."""
        return self.operation is not None and self.operation.state is State.SUCCEEDED

    @property
    def nodes(self) -> "Collection[Node]":
        """The known nodes with their steps, in the order of the plan."""
        if self._stale:
            before = len(self._whole)
            for path in self._stale.intersection(self._nodes):
                self._whole[path] = dataclasses.replace(self._nodes[path], steps=self._steps_of(path))
            self._stale = set()
            if len(self._whole) > before:
                self._whole = dict(sorted(self._whole.items(), key=lambda item: item[1].ordinal))
        return self._whole.values()

    @property
    def resources(self) -> "list[Node]":
        """The known nodes of resources, without charts, hooks and events."""
        return [node for node in self.nodes if node.kind is NodeKind.RESOURCE]

    @property
    def said(self) -> "list[tuple[LifecycleRun, list[str]]]":
        """The lifecycle events with messages, in order, each with its lines: the last TAIL_LINES lines in all."""
        left, found = TAIL_LINES, []
        for run in sorted(self._runs.values(), key=lambda run: run.ordinal, reverse=True):
            if left and (lines := run.message.splitlines()[-left:]):
                left -= len(lines)
                found.append((run, lines))
        return found[::-1]

    @property
    def focus(self) -> "Node | None":
        """The node that matters most: the first that failed, else the last in progress. It is never a chart."""
        nodes = [node for node in self.nodes if node.kind is not NodeKind.CHART]
        failed = (node for node in nodes if node.state is NodeState.FAILED)
        working = [node for node in nodes if node.state in _WORKING]
        return next(failed, working[-1] if working else None)

    @property
    def is_whole(self) -> bool:
        """Whether all nodes of the plan are known. No event tells of a node when the plan is made."""
        if self.operation is None or not 0 < self.operation.total_nodes <= len(self._nodes):
            return False
        has_gap = max(node.ordinal for node in self._nodes.values()) >= len(self._nodes)
        return not has_gap and len(self.resources) >= self.operation.total_nodes

    @property
    def done(self) -> int:
        """The number of resources whose nodes have ended."""
        return sum(node.state.is_final for node in self.resources)

    def replace(
        self, operation: "Operation", nodes: "Iterable[Node]", runs: "Iterable[LifecycleRun]" = ()
    ) -> "list[Resource]":
        """Take lists. Returns the resources that are newer than the known ones, in the order of their times.

        The operation is the last of them if it is over, else the first.
        """
        changed: list[Resource] = []
        for node in nodes:
            changed += [step for step in node.steps if self._take_step(step)]
            if self._take_node(node):
                changed.append(self._nodes[node.path])
        changed += [run for run in runs if self._take_run(run)]
        changed.sort(key=lambda each: self.moment(each) or _EARLIEST)
        if self._take_operation(operation):
            changed.insert(len(changed) if operation.state.is_final else 0, operation)
        return changed

    def apply(self, event: "Event") -> "Resource | None":
        """Take an event. Returns its resource as it is now, None if the event is older than the known state."""
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        if event.resource_type is ResourceType.OPERATION and event.resource_id != self.operation_id:
            return None
        match event.resource:
            case client_library.Operation() as operation if self._take_operation(operation):
                return self.operation
            case client_library.Node() as node if node.operation_id == self.operation_id and self._take_node(node):
                return self._nodes[node.path]
            case client_library.Step() as step if step.operation_id == self.operation_id and self._take_step(step):
                return step
            case client_library.LifecycleRun() as run if run.operation_id == self.operation_id and self._take_run(run):
                return run
            case _:
                return None

    def node(self, path: str) -> "Node | None":
        """Return a node with its steps; None if it is unknown."""
        return self._whole.get(path) if self.nodes else None

    def add(self, line: "StepLogLine") -> None:
        """Take an output line. For each node, only the lines of the latest step's attempt are kept."""
        known = self._tails.get(line.path)
        printer = (line.step_id, line.attempt)
        if known is None or known[0] != printer:
            known = self._tails[line.path] = printer, log_line.Tail(TAIL_LINES)
        known[1].add(line)

    def tail(self, node: "Node") -> list[str]:
        """Return the last output lines of a node: all kept lines of a failed node, one line of a node in progress."""
        known = self._tails.get(node.path)
        if known is None or (node.state is not NodeState.FAILED and node.state not in _WORKING):
            return []
        return known[1].texts()[0 if node.state is NodeState.FAILED else -1 :]

    def current_step(self, node: "Node") -> "Step | None":
        """Return the step of a node that runs or waits for its next attempt; None if none is known."""
        begun = (step for step in node.steps if not step.state.is_final and step.attempt)
        return next(begun, None)

    def actions(self, node: "Node") -> "list[Step]":
        """Return the actions of a node in order."""
        return [step for step in node.steps if step.kind is StepKind.ACTION]

    def wait(self, node: "Node", *, with_states: bool = True) -> str:
        """Say what a node waits for; empty if it does not wait."""
        if self.is_over or not self.is_whole or node.state is not NodeState.PENDING:
            return ""
        if len(self._nodes) > MAX_EXPLAINED_NODES:
            return ""
        blockers = self._blockers(node.path)
        if not blockers:
            return "" if self.current_step(node) is not None else self._turn()
        names = [self._named(found) if with_states else found.path for found in blockers[:_MAX_NAMED]]
        more = f" and {len(blockers) - _MAX_NAMED} more" if len(blockers) > _MAX_NAMED else ""
        return f"waits for {', '.join(names)}{more}"

    def moment(self, resource: "Resource") -> "datetime | None":
        """Return the time of the last change of a resource that came without an event."""
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        if isinstance(resource, client_library.LifecycleRun):
            return resource.updated_at
        if resource.state.is_final:
            return resource.finished_at or resource.updated_at
        # The last update of a resource in progress may be later than the change of its state.
        is_begun = resource.state is not State.PENDING and resource.state is not NodeState.PENDING
        return (resource.started_at if is_begun else None) or resource.updated_at or resource.created_at

    def count(self, state: NodeState, *, changed: bool | None = None) -> int:
        """Count the resources in a state; with `changed`, only those that were changed, or that were not."""
        found = (node for node in self.resources if node.state is state)
        return sum(changed is None or node.changed is changed for node in found)

    def _blockers(self, path: str) -> "tuple[walk.Blocker, ...]":
        """Return the nodes that a node waits for or, if there are none, those that the charts around it wait for."""
        states = {path: found.state for path, found in self._nodes.items()}
        found = walk.waits_for(self._plan(), states, path)
        chart = name.parent_chart(path)
        while not found and chart:
            found = walk.waits_for(self._plan(), states, chart) if chart in states else ()
            chart = name.parent_chart(chart)
        return found

    def _named(self, blocker: walk.Blocker) -> str:
        """Name a node with its state; for a chart in progress, also say how many of its resources are ready."""
        inside = (f"{blocker.path}:", f"{blocker.path}.")
        states = [node.state for node in self.resources if node.path.startswith(inside)]
        is_counted = blocker.state is NodeState.INSTALLING and len(states) > 1
        far = f", {states.count(NodeState.READY)} of {len(states)} ready" if is_counted else ""
        return f"{blocker.path} ({blocker.state}{far})"

    def _turn(self) -> str:
        options = self.operation.options if self.operation is not None else None
        called = (NodeKind.RESOURCE, NodeKind.HOOK)
        working = sum(node.state in _WORKING for node in self.nodes if node.kind in called)
        is_full = options is not None and working >= options.parallel
        return f"waits until fewer than {working} others are in progress" if is_full else ""

    def _take_operation(self, operation: "Operation") -> bool:
        known = self.operation
        if known is not None and operation.version <= known.version:
            # Phases and counters change without an event, and without a new version.
            self.operation = operation if operation.version == known.version and operation.options else known
            return False
        options = operation.options or (known.options if known is not None else None)
        self.operation = dataclasses.replace(operation, options=options)
        return True

    def _take_node(self, node: "Node") -> bool:
        known = self._nodes.get(node.path)
        if known is not None and known.version > node.version:
            return False
        # The node in an event lacks the names of the nodes before it, which the plan has.
        after = node.after or (known.after if known is not None else ())
        if known is not None and known.after != after:
            self._planned = Plan(())
        self._nodes[node.path] = dataclasses.replace(node, after=after, steps=())
        self._stale.add(node.path)
        return known is None or known.version < node.version

    def _take_step(self, step: "Step") -> bool:
        steps = self._steps.setdefault(step.path, {})
        known = steps.get(step.ordinal)
        if known is not None and known.version >= step.version:
            return False
        steps[step.ordinal] = step
        self._stale.add(step.path)
        return True

    def _take_run(self, run: "LifecycleRun") -> bool:
        """Take a lifecycle event. Returns whether it is newer than the known one, and had a handler or a message."""
        known = self._runs.get(run.id)
        if known is not None and known.version >= run.version:
            return False
        self._runs[run.id] = run
        return bool(run.handlers or run.message)

    def _steps_of(self, path: str) -> "tuple[Step, ...]":
        steps = self._steps.get(path, {})
        return tuple(steps[ordinal] for ordinal in sorted(steps))

    def _plan(self) -> Plan:
        if len(self._planned.nodes) < len(self._nodes):
            self._planned = Plan(
                [PlanNode(path=node.path, task=node.task, batch=node.batch, after=node.after) for node in self.nodes]
            )
        return self._planned


def moment_of_answer(operation: "Operation") -> "datetime | None":
    """Return the server's time when it answered with this operation, from its deadline; None if it has none."""
    if operation.remaining_seconds is None or operation.created_at is None or operation.options is None:
        return None
    return operation.created_at + timedelta(seconds=operation.options.timeout_seconds - operation.remaining_seconds)
