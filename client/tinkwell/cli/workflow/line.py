"""Shows a workflow as plain lines, one for each change: for pipes, files and terminals that cannot draw a tree.

    TIME  WORKFLOW  STATE  ID           template  done/all  seconds  cause
    TIME  ACTION    STATE  task/action  attempt N  seconds  exit N  what it waits for  message

Two blanks stand between columns, the first four columns are always there, and TIME is the time of the change by the
server's clock. The lines are the same whenever the events are read. The only exception is the name of another workflow
that this one waits for, because no event tells it.
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
    """Makes lines of the changes of a tree. A resource never gets the same line twice in succession."""

    def __init__(self, tree: workflow_tree.Tree) -> None:
        self._tree = tree
        self._said: dict[str, str] = {}

    def of(self, changed: "workflow_tree.Resource", at: "datetime | None") -> Iterator[str]:
        """Return the lines for a resource that the tree has just taken: none, one, or two if another worker is next."""
        from tinkwell import client as client_library  # gRPC costs start-up time, see main

        if isinstance(changed, client_library.Workflow):
            yield from self._once(changed.id, _workflow(changed), at)
            return
        current = self._tree.current
        is_current = current is not None and current.id == changed.id
        # The actions after the current one wait for it, which its own line already tells.
        if changed.state is not State.PENDING or is_current:
            yield from self._once(changed.id, self._action(changed), at)
        if changed.state is State.SUCCEEDED and current is not None and current.worker_id != changed.worker_id:
            # The workflow stands still here if the other worker does not run, so the user is told whom it waits for.
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
            # The line says what was true at its TIME, the action's last change.
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
