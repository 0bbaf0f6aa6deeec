"""Names of actions for a worker that names their containers after them.

Docker takes fewer names than templates do: none of a single character, and none with a space or with a letter that is
not ASCII. An action with another name is told by one that Docker takes, and its reports come back with that.
"""

import re
from collections.abc import Iterator, Sequence

from tinkwell.core.workflow.record import Action

_TAKEN = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_OTHER_CHARACTER = re.compile(r"[^a-zA-Z0-9_.-]")


def told(actions: Sequence[Action]) -> list[str]:
    """Return the names by which the actions of a workflow are told, in their order; in a task each is another one."""
    names = {(action.task_name, action.name) for action in actions if _TAKEN.fullmatch(action.name)}
    return list(_told(actions, names))


def find(actions: Sequence[Action], task_name: str, name: str) -> Action | None:
    """Return the action that a worker means by a name, its own or the one that it was told; None where there is none.

    No action is told by a name that is another one's own.
    """
    for action, known_as in zip(actions, told(actions), strict=True):
        if action.task_name == task_name and name in (action.name, known_as):
            return action
    return None


def _told(actions: Sequence[Action], names: set[tuple[str, str]]) -> Iterator[str]:
    for action in actions:
        name = action.name
        if not _TAKEN.fullmatch(name):
            name = f"action-{_OTHER_CHARACTER.sub('_', name)}"
            while (action.task_name, name) in names:
                name += "_"
            names.add((action.task_name, name))
        yield name
