"""Shows a release as tables."""

from typing import TYPE_CHECKING

from tinkwell.cli.release.follow import arrangement, outline, summary
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import output
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState

if TYPE_CHECKING:
    from tinkwell.client import Node, Operation, Release

_HEADER = ("BATCH", "RESOURCE", "TASK", "STATE", "SECONDS", "ACTIONS", "MESSAGE")


def show(release: "Release", tree: release_tree.Tree) -> None:
    """Write a release, its last operation, and the nodes of this operation."""
    output.fields(_fields(release, tree))
    if tree.nodes:
        output.line("")
        output.table(_HEADER, [_row(tree, node) for node in arrangement.of(tree.nodes).flat()])


def _fields(release: "Release", tree: release_tree.Tree) -> list[tuple[str, str]]:
    from tinkwell.client.release import failure  # gRPC costs start-up time, see main

    operation = tree.operation
    assert operation is not None  # the caller has read it
    node = failure.first_failed(tree.nodes)
    is_failed = operation.state in (State.FAILED, State.TIMEOUT, State.CANCELLED)
    why = (failure.of_node(node) if node is not None else failure.reason(operation)) if is_failed else ""
    newest = f" (latest {release.latest_revision})" if release.latest_revision != release.revision else ""
    return [
        ("NAME", release.name),
        ("NAMESPACE", release.namespace),
        ("STATE", release.state),
        ("REVISION", f"{release.revision or 'none'}{newest}"),
        ("DESCRIPTION", release.description),
        ("ENGINE", release.engine),
        ("OPERATION", f"{operation.id}  {_operation(operation, tree)}"),
        ("REASON", operation.reason),
        ("CAUSE", why),
        ("NEXT", _next(operation, tree, _source(release))),
        ("ID", release.id),
        ("CREATED", output.moment(release.created_at)),
        ("UPDATED", output.moment(release.updated_at)),
    ]


def _operation(operation: "Operation", tree: release_tree.Tree) -> str:
    words = f"{operation.kind.lower()} {operation.state}"
    if not operation.state.is_final:
        return "  ".join((words, *outline.progress(tree)))
    counted = summary.counts(tree)
    return f"{words}: {counted}" if counted else words


def _source(release: "Release") -> summary.Source | None:
    """Say what a release is made of; None before its first plan, when this is unknown."""
    if release.chart_name:
        return summary.Source.CHART
    return summary.Source.FILES if release.latest_revision else None


def _next(operation: "Operation", tree: release_tree.Tree, source: summary.Source | None) -> str:
    """Name the command with which the user can go on."""
    if not operation.state.is_final:
        return f"{summary.command('watch', operation)} shows it"
    return "" if operation.state is State.SUCCEEDED else summary.way_on(operation, tree.nodes, source)


def _row(tree: release_tree.Tree, node: "Node") -> tuple[str, ...]:
    actions = outline.actions_text(node) if node.state is NodeState.READY else outline.step_text(tree, node)
    message = tree.wait(node) or node.message
    taken = ""
    if node.started_at is not None and node.finished_at is not None:
        taken = f"{(node.finished_at - node.started_at).total_seconds():.1f}"
    return str(node.batch), node.path, node.task.lower(), node.state, taken, actions, message
