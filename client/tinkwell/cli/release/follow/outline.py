"""Describes the tree of an operation at one moment, as nodes of text.

shop  upgrade  RUNNING  2 of 5 done (40%)  6s of 5m00s
├── batch 1 of 2
│   ├── role   READY       0.4s  unchanged
│   └── db     INSTALLING  6s  action create-database (2 of 3)
│       └── the last output line
└── batch 2 of 2
    └── site   PENDING     waits for db (INSTALLING)

Below a chart stand its first hooks, its subcharts by their batches, its own resources and its last hooks; if the chart
is removed, the resources come before the subcharts. An event is shown while its handlers run, and if it failed. The
last messages of handlers stand above all nodes.
"""

import dataclasses
import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tinkwell.cli.release.follow import arrangement
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import duration, output
from tinkwell.cli.shell.outline import Node, clean, tail
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeKind, NodeState, NodeTask, StepKind

if TYPE_CHECKING:
    from tinkwell import client as client_library

_MAX_NAMED_ACTIONS = 3
# Only the first characters of an operation's id are shown, so that a row fits into 80 columns.
_ID_CHARACTERS = 8


def outline(tree: release_tree.Tree, now: datetime, *, note: str = "") -> Node:
    """Return the whole tree at a moment by the server's clock, with the note below it."""
    notes = (Node(output.clean(note)),) if note else ()
    operation = tree.operation
    if operation is None:
        return Node(f"operation {output.clean(tree.operation_id)}", children=notes)
    return Node(
        output.clean(f"{operation.release_name} {operation.kind.lower()} {operation.id[:_ID_CHARACTERS]}"),
        operation.state,
        clean(*progress(tree), _operation_time(operation, now)),
        (*_said(tree), *_batches(tree, now), *notes),
    )


def progress(tree: release_tree.Tree) -> tuple[str, ...]:
    """Say how far an operation is."""
    operation = tree.operation
    if operation is None or operation.state is State.PENDING:
        return ()
    asked = ("cancel requested",) if operation.cancel_requested and not operation.state.is_final else ()
    if not operation.total_nodes:
        return asked if operation.state.is_final else (operation.phase.lower(), *asked)
    percent = tree.done * 100 // operation.total_nodes
    return (f"{tree.done} of {operation.total_nodes} done ({percent}%)", *asked)


def actions_text(node: "client_library.Node") -> str:
    """Name the actions of a node, or count them if they are many; "unchanged" if there were none."""
    if not node.changed:
        return "unchanged" if node.state is NodeState.READY else ""
    names = [step.name for step in node.steps if step.kind is StepKind.ACTION and step.state is State.SUCCEEDED]
    return ", ".join(names) if len(names) <= _MAX_NAMED_ACTIONS else f"{len(names)} actions"


def step_text(tree: release_tree.Tree, node: "client_library.Node") -> str:
    """Say which step of a node runs; empty if none is known to run."""
    from tinkwell.client.release import failure  # gRPC costs start-up time, see main

    step = tree.current_step(node)
    if step is None:
        return ""
    actions = tree.actions(node)
    place = f" ({actions.index(step) + 1} of {len(actions)})" if step in actions and len(actions) > 1 else ""
    again = f"  attempt {step.attempt}" if step.attempt > 1 and step.state is State.RUNNING else ""
    waits = "  waits for its next attempt" if step.state is State.PENDING else ""
    return f"{failure.step_title(step)}{place}{again}{waits}"


def _batches(tree: release_tree.Tree, now: datetime) -> tuple[Node, ...]:
    """Return the nodes below their batches and charts; without a batch above them if there is only one."""
    focus = tree.focus
    if any(node.kind is NodeKind.CHART for node in tree.nodes):
        found = arrangement.of(tree.nodes)
        return tuple(_chart(tree, found, node, now) for node in found.top)
    nodes = [node for node in tree.nodes if arrangement.is_shown(node)]
    shown = {node.path: _node(tree, node, now, has_focus=node == focus) for node in nodes}
    batches = _grouped([(node.batch, shown[node.path]) for node in nodes if node.kind is NodeKind.RESOURCE])
    before, after = ([shown[node.path] for node in find(nodes)] for find in (arrangement.first, arrangement.last))
    return (*before, *batches, *after)


def _said(tree: release_tree.Tree) -> tuple[Node, ...]:
    return tuple(
        Node(output.clean(f"{run.chart}/{run.event}"), run.outcome, children=tail(lines)) for run, lines in tree.said
    )


def _grouped(nodes: Iterable[tuple[object, Node]]) -> tuple[Node, ...]:
    """Put nodes below their batches. Each is given with a key of its batch, and those of one batch stand together."""
    groups = [
        tuple(node for _, node in those) for _, those in itertools.groupby(nodes, key=lambda numbered: numbered[0])
    ]
    if len(groups) < 2:
        return groups[0] if groups else ()
    return tuple(
        Node(f"batch {number} of {len(groups)}", children=those, has_focus=any(node.has_focus for node in those))
        for number, those in enumerate(groups, 1)
    )


def _chart(tree: release_tree.Tree, found: arrangement.Arrangement, node: "client_library.Node", now: datetime) -> Node:
    """Return a chart with the nodes in it, or a node of another kind by itself."""
    shown = _node(tree, node, now, has_focus=node == tree.focus)
    if node.kind is not NodeKind.CHART:
        return shown
    batches = _grouped(
        [((each.task, each.batch), _chart(tree, found, each, now)) for each in found.subcharts(node.path)]
    )
    own, before, after = (
        tuple(_chart(tree, found, each, now) for each in find(node.path))
        for find in (found.resources, found.first, found.last)
    )
    inside = (*batches, *own) if node.task is NodeTask.INSTALL else (*own, *batches)
    inside = (*before, *inside, *after)
    return dataclasses.replace(shown, children=inside, has_focus=any(child.has_focus for child in inside))


def _node(tree: release_tree.Tree, node: "client_library.Node", now: datetime, *, has_focus: bool) -> Node:
    details = clean(
        _node_time(node, now),
        "to be removed" if _is_to_go(node) else "",
        actions_text(node) if node.state is NodeState.READY else step_text(tree, node),
        tree.wait(node),
        "" if node.state is NodeState.READY else node.message,
    )
    return Node(output.clean(node.path), node.state, details, tail(tree.tail(node)), has_focus)


def _is_to_go(node: "client_library.Node") -> bool:
    """Whether a node waits to be removed. A hook of a removal is run, not removed."""
    is_waiting = node.task is NodeTask.REMOVE and node.state is NodeState.PENDING
    return is_waiting and node.kind in (NodeKind.RESOURCE, NodeKind.CHART)


def _operation_time(operation: "client_library.Operation", now: datetime) -> str:
    """Say how long an operation took, or how much of its time has passed since its request."""
    if operation.created_at is None:
        return ""
    if operation.state.is_final:
        return taken((operation.finished_at or operation.created_at) - operation.created_at)
    elapsed = duration.show((now - operation.created_at).total_seconds())
    limit = operation.options.timeout_seconds if operation.options is not None else 0
    return f"{elapsed} of {duration.show(limit)}" if limit else elapsed


def _node_time(node: "client_library.Node", now: datetime) -> str:
    if node.started_at is None:
        return ""
    if node.state.is_final:
        return "" if node.finished_at is None else taken(node.finished_at - node.started_at)
    return duration.show((now - node.started_at).total_seconds())


def taken(time: timedelta) -> str:
    """Describe the time that something took from its start to its end."""
    seconds = max(time.total_seconds(), 0.0)
    return f"{seconds:.1f}s" if seconds < 60 else duration.show(seconds)
