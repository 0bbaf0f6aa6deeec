"""Names of actions for a worker that names its containers after them.

Docker accepts fewer names than templates do: none with a single character, and none with a space or a letter outside of
ASCII. The worker is told another name for such an action, which Docker accepts, and its reports come back with that
name.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tinkwell.core.workflow.record import Action

_TAKEN = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
_OTHER_CHARACTER = re.compile(r"[^a-zA-Z0-9_.-]")


def told(actions: Sequence[Action]) -> list[str]:
    """Return the names under which the worker is told the actions of a workflow, in order.

    In a task all names differ.
    """
    names = {(action.task_name, action.name) for action in actions if _TAKEN.fullmatch(action.name)}
    return list(_told(actions, names))


def find(actions: Sequence[Action], task_name: str, name: str) -> Action | None:
    """Return the action that a worker names by its own name or by the one that it was told, or None.

    No action is told under the own name of another one.
    """
    for action, known_as in zip(actions, told(actions), strict=True):
        if action.task_name == task_name and name in (action.name, known_as):
            return action
    return None


def _told(actions: Sequence[Action], names: set[tuple[str, str]]) -> Iterator[str]:
    # The number of actions of a task with the same name after the conversion.
    counts: Counter[tuple[str, str]] = Counter()
    for action in actions:
        name = action.name
        if not _TAKEN.fullmatch(name):
            name = fitting = f"action-{_OTHER_CHARACTER.sub('_', name)}"
            while (action.task_name, name) in names:
                counts[action.task_name, fitting] += 1
                name = f"{fitting}_{counts[action.task_name, fitting] + 1}"
            names.add((action.task_name, name))
        yield name
