"""Describes the tree of a workflow at one moment, as nodes of text.

template ID  RUNNING  1 of 3 done (33%)  14s
├── install  worker ID
│   ├── wipe    SUCCEEDED  0.4s  exit 0
│   ├── stream  RUNNING    12s of 600s  attempt 2 of 4
│   │   └── the last output lines
│   └── boot    PENDING    waits for install/stream
"""

import itertools
from datetime import datetime
from typing import TYPE_CHECKING

from tinkwell.cli.event import attempt
from tinkwell.cli.shell import duration, output
from tinkwell.cli.shell.outline import Node, clean, tail
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from tinkwell.client import Action, Workflow


def outline(tree: workflow_tree.Tree, now: datetime, *, note: str = "") -> Node:
    """Return the whole tree at a moment by the server's clock, with the note below it."""
    notes = (Node(output.clean(note)),) if note else ()
    if tree.workflow is None:
        return Node(f"workflow {output.clean(tree.workflow_id)}", children=notes)
    tasks = itertools.groupby(tree.actions, key=lambda action: action.task_name)
    children = tuple(_task(tree, name, list(actions), now) for name, actions in tasks)
    workflow = tree.workflow
    return Node(
        output.clean(f"{workflow.template_name} {workflow.id}".strip()),
        None if tree.is_deleted else workflow.state,
        clean(
            "deleted" if tree.is_deleted else "",
            f"recovers {workflow.recovers}" if workflow.recovers else "",
            progress_text(workflow.completed_actions, workflow.total_actions),
            _time(workflow, workflow.state, limit=workflow.global_timeout_seconds, now=now),
        ),
        children + notes,
    )


def progress_text(completed: int, total: int) -> str:
    """Say how many actions are done."""
    percent = f" ({completed * 100 // total}%)" if total else ""
    return f"{completed} of {total} done{percent}"


def _task(tree: workflow_tree.Tree, name: str, actions: "list[Action]", now: datetime) -> Node:
    leaves = tuple(_action(tree, action, now) for action in actions)
    workers = ", ".join(dict.fromkeys(action.worker_id for action in actions))
    return Node(
        output.clean(name),
        details=clean(f"worker {workers}"),
        children=leaves,
        has_focus=any(leaf.has_focus for leaf in leaves),
    )


def _action(tree: workflow_tree.Tree, action: "Action", now: datetime) -> Node:
    has_focus = tree.focus is not None and tree.focus.id == action.id
    # For an action that waits for another attempt, the number of the last attempt is shown.
    is_repeated = action.attempt > 1 or (action.attempt > 0 and action.state is State.PENDING)
    code = f"exit {action.exit_code}" if action.exit_code is not None else ""
    details = clean(
        _time(action, action.state, limit=action.timeout_seconds, now=now),
        attempt.ordinal(action) if is_repeated else "",
        code,
        _wait(tree, action, now),
        action.message if action.state is not State.RUNNING else "",
    )
    lines = tail(tree.tail(action) if has_focus else ())
    return Node(output.clean(action.name), action.state, details, lines, has_focus)


def _time(resource: "Workflow | Action", state: State, *, limit: int, now: datetime) -> str:
    """Say how long a workflow or an action took, or has been running so far."""
    if state.is_final:
        taken = workflow_tree.seconds_taken(resource)
        return "" if taken is None else f"{taken:.1f}s" if taken < 60 else duration.show(taken)
    if state is not State.RUNNING or resource.started_at is None:
        return ""
    elapsed = duration.show((now - resource.started_at).total_seconds())
    return f"{elapsed} of {duration.show(limit)}" if limit else elapsed


def _wait(tree: workflow_tree.Tree, action: "Action", now: datetime) -> str:
    """Say what an action waits for; for the current action, also how long it has waited."""
    reason = tree.wait(action, now)
    if not reason or tree.current is not action or tree.workflow is None or attempt.pause(action, now):
        return reason
    before = [other.finished_at for other in tree.actions if other.index < action.index and other.finished_at]
    since = action.retry_at or action.updated_at if action.attempt else max(before, default=tree.workflow.created_at)
    return reason if since is None else f"{reason} ({duration.show((now - since).total_seconds())})"
