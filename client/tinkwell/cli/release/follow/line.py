"""Shows an operation as plain lines, one for each change: for pipes, files and terminals that cannot draw a tree.

    TIME  OPERATION  STATE  release  kind  ID  done/all  seconds  cause
    TIME  NODE       STATE  path  seconds  actions  what it waits for  message
    TIME  STEP       STATE  path  action  attempt N  seconds  exit N  message
    TIME  LIFECYCLE  OUTCOME  chart  event  seconds  message

Two blanks stand between columns, the first four columns are always there, and TIME is the time of the change by the
server's clock. A step has a line only if it may change something, and the node of an event only if it failed. An
emitted event that had handlers has a LIFECYCLE line for each line of their messages.
"""

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from tinkwell.cli.release.follow import outline
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import output
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.kinds import NodeKind, NodeState

if TYPE_CHECKING:
    from datetime import datetime

    from tinkwell.client import LifecycleRun, Node, Operation, Step

_KIND_WIDTH = max(map(len, (ResourceType.OPERATION, ResourceType.NODE, ResourceType.STEP)))
_STATE_WIDTH = max(map(len, (*State, *NodeState)))


class Lines:
    """Makes lines of the changes of a tree. A resource never gets the same line twice in succession."""

    def __init__(self, tree: release_tree.Tree) -> None:
        self._tree = tree
        self._said: dict[str, str] = {}

    def of(self, changed: "release_tree.Resource", at: "datetime | None") -> Iterator[str]:
        """Return the lines for a resource that the tree has just taken; none if nothing is to be told."""
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        match changed:
            case client_library.Operation():
                text = self._operation(changed)
            case client_library.Node():
                text = self._node(changed)
            case client_library.LifecycleRun():
                for each in self._run(changed):
                    yield f"{output.moment(at, digits=3)}  {each}"
                return
            case _:
                text = _step(changed) if changed.kind.has_effects and changed.attempt else ""
        if text and self._said.get(changed.id) != text:
            self._said[changed.id] = text
            yield f"{output.moment(at, digits=3)}  {text}"

    def _run(self, run: "LifecycleRun") -> list[str]:
        operation = self._tree.operation
        name = run.chart or (operation.release_name if operation is not None else "")
        lines = run.message.splitlines() or [""]
        seconds = [outline.taken(timedelta(seconds=run.seconds))] + [""] * (len(lines) - 1)
        return [
            _line(ResourceType.LIFECYCLE, run.outcome, name, [run.event, taken, text])
            for taken, text in zip(seconds, lines, strict=True)
        ]

    def _operation(self, operation: "Operation") -> str:
        from tinkwell.client.release import failure  # gRPC costs start-up time, see main

        is_over = operation.state.is_final
        details = [
            operation.kind.lower(),
            operation.id,
            # Before the end this number grows without an event.
            f"{self._tree.done}/{operation.total_nodes}" if is_over and operation.total_nodes else "",
            "cancel requested" if operation.cancel_requested and not is_over else "",
            # The time of an operation counts from its request, as its deadline does.
            _seconds(operation, operation.created_at),
            failure.reason(operation),
        ]
        return _line(ResourceType.OPERATION, operation.state, operation.release_name, details)

    def _node(self, node: "Node") -> str:
        if node.kind is NodeKind.EVENT and node.state is not NodeState.FAILED:
            return ""
        known = self._tree.node(node.path) or node
        details = [
            _seconds(node, node.started_at),
            outline.actions_text(known) if node.state is NodeState.READY else "",
            self._tree.wait(known, with_states=False),
            node.message,
        ]
        return _line(ResourceType.NODE, node.state, node.path, details)


def _step(step: "Step") -> str:
    from tinkwell.client.release import failure  # gRPC costs start-up time, see main

    details = [
        failure.step_title(step),
        f"attempt {step.attempt}" if step.attempt > 1 or step.state is State.PENDING else "",
        _seconds(step, step.started_at),
        f"exit {step.exit_code}" if step.state is not State.RUNNING and step.exit_code is not None else "",
        step.message if step.state is not State.SUCCEEDED else "",
    ]
    return _line(ResourceType.STEP, step.state, step.path, details)


def _line(kind: ResourceType, state: StrEnum, name: str, details: list[str]) -> str:
    words = [f"{kind:<{_KIND_WIDTH}}", f"{state:<{_STATE_WIDTH}}", name, *filter(None, details)]
    return "  ".join(output.clean(word) for word in words)


def _seconds(resource: "Operation | Node | Step", begun_at: "datetime | None") -> str:
    if not resource.state.is_final or begun_at is None or resource.finished_at is None:
        return ""
    return outline.taken(resource.finished_at - begun_at)
