"""Checks, when a plan is applied, that the actions of each resource are the planned ones or fewer."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tinkwell.core.release.preview.model import Mark, PlannedAction, Preview, PreviewNode

_SHOWN_ACTIONS = 5
_SHOWN_CHARACTERS = 100
_NOT_PLANNED = "which the plan does not have; make a new plan"


def problem(nodes: Mapping[str, PreviewNode], path: str, actions: Sequence[PlannedAction]) -> str:
    """Return why a resource must not be changed, whose `state` lists these actions now; "" if it may be.

    `nodes` are those of the plan by their paths. A resource that is decided at run may list any actions.
    """
    node = nodes.get(path)
    if node is not None and node.mark is Mark.OPEN:
        return ""
    known = Counter(action.identity for action in node.actions) if node is not None else Counter()
    new = []
    for action in actions:
        known[action.identity] -= 1
        if known[action.identity] < 0:
            new.append(action)
    if not new:
        return ""
    shown = ", ".join(map(_show, new[:_SHOWN_ACTIONS]))
    more = f" and {len(new) - _SHOWN_ACTIONS} more" if len(new) > _SHOWN_ACTIONS else ""
    noun = "the action" if len(new) == 1 else "the actions"
    return f"its state lists {noun} {shown}{more} now, {_NOT_PLANNED}"


def is_problem(message: str) -> bool:
    """Return whether the message of a node was made by `problem`."""
    return _NOT_PLANNED in message


def by_path(preview: Preview) -> Mapping[str, PreviewNode]:
    """Return the nodes of a plan by their paths."""
    return {node.path: node for node in preview.nodes}


def _show(action: PlannedAction) -> str:
    detail = " ".join([*([action.image] if action.image else []), *(action.args or ())])
    shown = detail if len(detail) <= _SHOWN_CHARACTERS else f"{detail[:_SHOWN_CHARACTERS]}…"
    return f"{action.name} ({shown})" if detail else action.name
