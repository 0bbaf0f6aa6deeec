"""What becomes of a workflow as plain lines, one for each change: for pipes, files and terminals that can only add.

    TIME  WORKFLOW  STATE  ID           template  done/all  seconds  cause
    TIME  ACTION    STATE  task/action  attempt N  seconds  exit N  what it waits for  message

Columns are divided by two blanks, the first four are always there, and TIME is when it happened by the server's clock.
Nothing depends on when it is read, but for the other workflow that one waits for, of which there are no events.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinkwell.cli.event import attempt, line
from tinkwell.cli.shell import output
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import ResourceType, State

if TYPE_CHECKING:
    from datetime import datetime

    from tinkwell.client import Action, Workflow

_KIND_WIDTH = max(map(len, (ResourceType.WORKFLOW, ResourceType.ACTION)))
_STATE_WIDTH = max(map(len, State))


class Lines:
    """Puts changes of a tree into lines, and never says of a resource what was said of it last."""

    def __init__(self, tree: workflow_tree.Tree) -> None:
        self._tree = tree
        self._said: dict[str, str] = {}

    def of(self, changed: "workflow_tree.Resource", at: "datetime | None") -> Iterator[str]:
        """Give the lines for a resource that the tree has just taken: none, one, or two at a handover."""
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        if isinstance(changed, client_library.Workflow):
            yield from self._once(changed.id, _workflow(changed), at)
            return
        current = self._tree.current
        is_current = current is not None and current.id == changed.id
        # Of the actions whose turn is not yet, there is nothing to say that the first one's line does not.
        if changed.state is not State.PENDING or is_current:
            yield from self._once(changed.id, self._action(changed), at)
        if changed.state is State.SUCCEEDED and current is not None and current.worker_id != changed.worker_id:
            # Here a workflow stands still where the other worker is not there.
            yield from self._once(current.id, self._action(current), at)

    def _once(self, id_: str, text: str, at: "datetime | None") -> Iterator[str]:
        if self._said.get(id_) != text:
            self._said[id_] = text
            yield f"{output.moment(at, digits=3)}  {text}"

    def _action(self, action: "Action") -> str:
        details = [
            attempt.ordinal(action),
            _seconds(action) if action.state.is_final else "",
            f"exit {action.exit_code}" if action.state is not State.RUNNING and action.exit_code is not None else "",
            # As of its last change, which is the line's TIME.
            self._tree.wait(action, action.updated_at),
            action.message,
        ]
        return _line(ResourceType.ACTION, action.state, workflow_tree.title(action), details)


def _workflow(workflow: "Workflow") -> str:
    details = [
        workflow.template_name,
        f"recovers {workflow.recovers}" if workflow.recovers else "",
        f"{workflow.completed_actions}/{workflow.total_actions}",
        _seconds(workflow) if workflow.state.is_final else "",
        line.format_cause(workflow.cause or {}),
    ]
    return _line(ResourceType.WORKFLOW, workflow.state, workflow.id, details)


def _line(kind: ResourceType, state: State, name: str, details: list[str]) -> str:
    words = [f"{kind:<{_KIND_WIDTH}}", f"{state:<{_STATE_WIDTH}}", name, *filter(None, details)]
    return "  ".join(output.clean(word) for word in words)


def _seconds(resource: "workflow_tree.Resource") -> str:
    taken = workflow_tree.seconds_taken(resource)
    return "" if taken is None else f"{taken:.1f}s"
