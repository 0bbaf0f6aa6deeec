"""The summary of a plan in one sentence."""

from collections import Counter

from tinkwell.core.release.preview.model import Mark, Preview

_COUNTED = (
    (Mark.CHANGE, "to change"),
    (Mark.CREATE, "to create"),
    (Mark.REMOVE, "to remove"),
    (Mark.OPEN, "decided at run"),
)


def has_changes(preview: Preview) -> bool:
    """Return whether the operation would or may change anything.

    A hook that runs is a change, a resource left in place is not.
    """
    return bool(preview.hooks) or any(mark in {node.mark for node in preview.nodes} for mark, _ in _COUNTED)


def count_failing(preview: Preview) -> int:
    """Return the number of resources at which the operation would certainly fail."""
    return sum(node.would_fail for node in preview.nodes)


def sentence(preview: Preview) -> str:
    """Return what would be done: `1 to change, 1 to create, 1 to remove, 1 decided at run, 2 hooks.`"""
    counts = Counter(node.mark for node in preview.nodes)
    parts = [f"{counts[mark]} {what}" for mark, what in _COUNTED if counts[mark]]
    if preview.hooks:
        parts.append("1 hook" if len(preview.hooks) == 1 else f"{len(preview.hooks)} hooks")
    if failing := count_failing(preview):
        parts.append(f"{failing} would fail")
    if parts:
        return f"{', '.join(parts)}."
    return "Nothing to change." if preview.drift is None else "Nothing has drifted."
