"""A workflow's tree as nodes of text, for a moment and for a height: what a terminal shows, before it is drawn.

    template ID  RUNNING  1 of 3 done (33%)  14s
    ├── install  worker ID
    │   ├── wipe    SUCCEEDED  0.4s  exit 0
    │   ├── stream  RUNNING    12s of 600s  attempt 2 of 4
    │   │   └── the last output lines
    │   └── boot    PENDING    waits for install/stream

Where there are more rows than the terminal has, those are folded that are far from where something happens.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tinkwell.cli.event import attempt
from tinkwell.cli.shell import duration, output
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from tinkwell.client import Action, Workflow

_MAX_OUTPUT_CHARACTERS = 500
_LEAST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Node:
    """One row, and those below it. Its texts are clean: nothing in them moves a cursor."""

    title: str
    state: State | None = None
    details: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    has_focus: bool = False

    @property
    def height(self) -> int:
        """The number of rows."""
        return 1 + sum(child.height for child in self.children)


def outline(tree: workflow_tree.Tree, now: datetime, *, note: str = "") -> Node:
    """Give the whole tree at a moment by the server's clock; a note stands below it."""
    notes = (Node(output.clean(note)),) if note else ()
    if tree.workflow is None:
        return Node(f"workflow {output.clean(tree.workflow_id)}", children=notes)
    tasks = itertools.groupby(tree.actions, key=lambda action: action.task_name)
    children = tuple(_task(tree, name, list(actions), now) for name, actions in tasks)
    workflow = tree.workflow
    return Node(
        output.clean(f"{workflow.template_name} {workflow.id}".strip()),
        None if tree.is_deleted else workflow.state,
        _clean(
            "deleted" if tree.is_deleted else "",
            f"recovers {workflow.recovers}" if workflow.recovers else "",
            progress_text(workflow.completed_actions, workflow.total_actions),
            _time(workflow, workflow.state, limit=workflow.global_timeout_seconds, now=now),
        ),
        children + notes,
    )


def fit(root: Node, rows: int) -> Node:
    """Fold nodes until the tree has no more rows than that, as far as the one that has the focus can stay."""
    if root.height <= rows or not root.children:
        return root
    place = next((i for i, child in enumerate(root.children) if child.has_focus), len(root.children) - 1)
    children = [child if i == place else _folded(child) for i, child in enumerate(root.children)]
    others = 1 + sum(child.height for child in children) - children[place].height
    if others + children[place].height > rows:
        room = max(rows - min(others, rows // 2), _LEAST_ROWS)
        children[place] = _cut(children[place], room)
    folded = dataclasses.replace(root, children=tuple(children))
    return _cut(folded, rows) if folded.height > rows else folded


def progress_text(completed: int, total: int) -> str:
    """Say how many actions are done."""
    percent = f" ({completed * 100 // total}%)" if total else ""
    return f"{completed} of {total} done{percent}"


def _task(tree: workflow_tree.Tree, name: str, actions: "list[Action]", now: datetime) -> Node:
    leaves = tuple(_action(tree, action, now) for action in actions)
    workers = ", ".join(dict.fromkeys(action.worker_id for action in actions))
    return Node(
        output.clean(name),
        details=_clean(f"worker {workers}"),
        children=leaves,
        has_focus=any(leaf.has_focus for leaf in leaves),
    )


def _action(tree: workflow_tree.Tree, action: "Action", now: datetime) -> Node:
    has_focus = tree.focus is not None and tree.focus.id == action.id
    # Of an action that waits for another attempt, the last one is told.
    is_repeated = action.attempt > 1 or (action.attempt > 0 and action.state is State.PENDING)
    code = f"exit {action.exit_code}" if action.exit_code is not None else ""
    details = _clean(
        _time(action, action.state, limit=action.timeout_seconds, now=now),
        attempt.ordinal(action) if is_repeated else "",
        code,
        _wait(tree, action, now),
        action.message if action.state is not State.RUNNING else "",
    )
    lines = tree.tail(action) if has_focus else ()
    tail = tuple(Node(output.clean(text[:_MAX_OUTPUT_CHARACTERS])) for text in lines)
    return Node(output.clean(action.name), action.state, details, tail, has_focus)


def _time(resource: "Workflow | Action", state: State, *, limit: int, now: datetime) -> str:
    """Say how long it took, or has been running so far."""
    if state.is_final:
        taken = workflow_tree.seconds_taken(resource)
        return "" if taken is None else f"{taken:.1f}s" if taken < 60 else duration.show(taken)
    if state is not State.RUNNING or resource.started_at is None:
        return ""
    elapsed = duration.show((now - resource.started_at).total_seconds())
    return f"{elapsed} of {duration.show(limit)}" if limit else elapsed


def _wait(tree: workflow_tree.Tree, action: "Action", now: datetime) -> str:
    """Say what an action waits for, and for how long where it is its turn."""
    reason = tree.wait(action, now)
    if not reason or tree.current is not action or tree.workflow is None or attempt.pause(action, now):
        return reason
    before = [other.finished_at for other in tree.actions if other.index < action.index and other.finished_at]
    since = action.retry_at or action.updated_at if action.attempt else max(before, default=tree.workflow.created_at)
    return reason if since is None else f"{reason} ({duration.show((now - since).total_seconds())})"


def _folded(node: Node) -> Node:
    """Say of a task in one row how its actions are."""
    if not node.children:
        return node
    counts = {state: sum(child.state is state for child in node.children) for state in State}
    told = tuple(f"{count} {state}" for state, count in counts.items() if count)
    return dataclasses.replace(node, details=(*told, *node.details), children=())


def _cut(node: Node, rows: int) -> Node:
    """Keep the children around the one that has the focus, and say how many are left out on both sides."""
    children = node.children
    place = next((i for i, child in enumerate(children) if child.has_focus), len(children) - 1)
    # One row is the node's own, and two may say what is left out.
    room = max(rows - 3 - children[place].height, 0)
    before = min(place, room // 2)
    after = min(len(children) - place - 1, room - before)
    before = min(place, room - after)
    kept = children[place - before : place + after + 1]
    return dataclasses.replace(
        node, children=(*_more(children[: place - before]), *kept, *_more(children[place + after + 1 :]))
    )


def _more(left_out: Sequence[Node]) -> tuple[Node, ...]:
    return (Node(f"… {len(left_out)} more"),) if left_out else ()


def _clean(*texts: str) -> tuple[str, ...]:
    return tuple(output.clean(text) for text in texts if text)
