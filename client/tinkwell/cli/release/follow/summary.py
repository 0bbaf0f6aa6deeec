"""Describes the outcome of an operation in one or two sentences."""

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from tinkwell.cli.release.follow import outline
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import output
from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.cause import Reason
from tinkwell.core.release.kinds import NodeKind, NodeState, OperationKind
from tinkwell.core.release.name import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Collection

    from tinkwell.client import Node, Operation


class Source(StrEnum):
    """What a release is made of."""

    FILES = "files"
    CHART = "chart"


_APPLIED = (OperationKind.INSTALL, OperationKind.UPGRADE)
_DONE = {
    OperationKind.UNINSTALL: "UNINSTALLED",
    OperationKind.PLAN: "PLANNED",
}
# The message of an event has this part if a script of a chart failed: the line of the script and its handler.
_SCRIPT = re.compile(r"\.lua:\d+: the handler of ")
_TEST = "@test"


def success(tree: release_tree.Tree) -> str:
    """Describe the outcome of an operation that succeeded: `shop DEPLOYED as revision 4 in 9.3s: 3 changed`."""
    operation = tree.operation
    assert operation is not None  # a tree that has succeeded has its operation
    if operation.kind is OperationKind.TEST:
        tests = _tests(tree.nodes)
        if not tests:
            return f"{operation.release_name} has no tests"
        return f"{operation.release_name} TESTED{_time(operation)}: {_number(len(tests))} ran"
    done = _DONE.get(operation.kind) or f"DEPLOYED as revision {operation.revision}"
    return f"{operation.release_name} {done}{_time(operation)}{_colon(counts(tree))}"


def failure(tree: release_tree.Tree, *, may_resume: bool, source: Source | None = None) -> list[str]:
    """Say why an operation ended without success, what it has changed, and how to go on.

    `source` says what the release is made of, None if that is unknown.
    """
    from tinkwell.client.release import failure as words  # gRPC costs start-up time, see main

    operation = tree.operation
    assert operation is not None  # a tree that is over has its operation
    node = words.first_failed(tree.nodes)
    why = words.of_node(node) if node is not None else words.reason(operation)
    if operation.kind is OperationKind.TEST:
        return [output.clean(sentence) for sentence in (why, _failed_test(tree)) if sentence]
    way = way_on(operation, tree.nodes, source) if may_resume else ""
    if not operation.total_nodes:
        ended = f"{operation.release_name} {operation.state}{_time(operation)}, before anything was changed"
        sentences = (f"{ended}{_colon(why)}", way)
    else:
        ended = f"{operation.release_name} {operation.state}{_time(operation)}{_colon(counts(tree))}"
        sentences = (why, "; ".join(filter(None, (ended, way))))
    return [output.clean_lines(sentence) for sentence in sentences if sentence]


def way_on(operation: "Operation", nodes: "Collection[Node]", source: Source | None = None) -> str:
    """Say how to go on after an operation that ended without success; empty if nothing is left to do.

    Resuming is not advised if the cause is in the manifest or the chart, or if the plan does not fit, because the
    operation would fail again in the same way.
    """
    from tinkwell.client.release import failure as words  # gRPC costs start-up time, see main
    from tinkwell.core.release.preview import applying  # jsonschema does, too

    if not operation.kind.changes_release:
        return ""  # the release is as it was
    if nodes:
        source = Source.CHART if any(node.kind is NodeKind.CHART for node in nodes) else Source.FILES
    failed = [node for node in nodes if node.state is NodeState.FAILED]
    is_early = _reason(operation) == Reason.PREPARATION_FAILED
    is_wrong = any(_fails_again(node, operation) for node in failed)
    if is_wrong or (is_early and operation.kind in _APPLIED):
        return f"mend that, and run {_same_again(operation, source)} again"
    if any(applying.is_problem(node.message) for node in failed):
        return f"{command('plan', operation, 'CHART' if source is Source.CHART else 'FILE...')} makes a new plan"
    if not operation.total_nodes:
        return ""
    node = words.first_failed(failed)
    resume = command("resume", operation, *(("--accept-lost",) if _reason(operation) == Reason.STEP_LOST else ()))
    return f"{resume} goes on{f' from {node.path}' if node is not None else ''}"


def counts(tree: release_tree.Tree) -> str:
    """Count the resources by their outcomes. Charts are not counted: their outcome follows from their resources."""
    found = {
        "changed": tree.count(NodeState.READY, changed=True),
        "unchanged": tree.count(NodeState.READY, changed=False),
        "removed": tree.count(NodeState.REMOVED),
        "left in place": tree.count(NodeState.LEFT),
        "failed": tree.count(NodeState.FAILED),
        "skipped": tree.count(NodeState.SKIPPED),
    }
    return ", ".join(f"{number} {what}" for what, number in found.items() if number)


def command(verb: str, operation: "Operation", *options: str) -> str:
    """Return a command line for the release, in double quotes."""
    words = " ".join(("", *options)) if options else ""
    elsewhere = f" -n {operation.namespace}" if operation.namespace != DEFAULT_NAMESPACE else ""
    return f'"tinkwell release {verb} {operation.release_name}{elsewhere}{words}"'


def _fails_again(node: "Node", operation: "Operation") -> bool:
    """Tell whether a node failed because of its manifest or chart, which a resumed operation would use unchanged."""
    if node.kind is NodeKind.EVENT:
        # An uninstall takes no chart, so a mended chart would not help.
        return operation.kind is not OperationKind.UNINSTALL and _SCRIPT.search(node.message) is not None
    return report.is_wrong_config(node.message) or report.is_wrong_plug(node.message)


def _tests(nodes: "Collection[Node]") -> "list[Node]":
    return [node for node in nodes if node.kind is NodeKind.HOOK and node.path.endswith(_TEST)]


def _number(tests: int) -> str:
    return f"{tests} test{'' if tests == 1 else 's'}"


def _failed_test(tree: release_tree.Tree) -> str:
    """Say how tests ended without success: `the test of shop ended as FAILED in 2s: 1 of 3 tests failed; …`.

    The state is that of the test. The release keeps its own state.
    """
    operation = tree.operation
    assert operation is not None  # a tree that is over has its operation
    tests = _tests(tree.nodes)
    failed = sum(node.state is NodeState.FAILED for node in tests)
    told = f"{failed} of {_number(len(tests))} failed" if failed else ""
    ended = f"the test of {operation.release_name} ended as {operation.state}{_time(operation)}{_colon(told)}"
    return f"{ended}; {operation.release_name} stays as it was"


def _same_again(operation: "Operation", source: Source | None) -> str:
    match source:
        case Source.FILES:
            return command("apply", operation, "FILE...")
        case Source.CHART:
            return command("install" if operation.kind is OperationKind.INSTALL else "upgrade", operation, "CHART")
        case None:
            return "the command"


def _reason(operation: "Operation") -> str:
    return str((operation.cause or {}).get("reason", ""))


def _time(operation: "Operation") -> str:
    if operation.created_at is None or operation.finished_at is None:
        return ""
    taken = outline.taken(operation.finished_at - operation.created_at)
    return f" {'after' if operation.state is State.TIMEOUT else 'in'} {taken}"


def _colon(text: str) -> str:
    return f": {text}" if text else ""
