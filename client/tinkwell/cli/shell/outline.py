"""A tree as nodes of text, as a terminal with a number of rows shows it at one moment.

If the tree has more rows than the terminal, the nodes far from the focus are folded.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.cli.shell import output

_MAX_OUTPUT_CHARACTERS = 500
_LEAST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Node:
    """One row, with the rows below it. Its texts are clean: no character in them moves the cursor."""

    title: str
    state: StrEnum | None = None
    details: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    has_focus: bool = False

    @property
    def height(self) -> int:
        """The number of rows."""
        return 1 + sum(child.height for child in self.children)


def clean(*texts: str) -> tuple[str, ...]:
    """Return the texts that are not empty, with control characters escaped."""
    return tuple(output.clean(text) for text in texts if text)


def tail(lines: Sequence[str]) -> tuple[Node, ...]:
    """Return a row for each output line."""
    return tuple(Node(output.clean_output(text[:_MAX_OUTPUT_CHARACTERS])) for text in lines)


def fit(root: Node, rows: int) -> Node:
    """Fold nodes until the tree has at most `rows` rows, but never the node with the focus."""
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


def _folded(node: Node) -> Node:
    """Replace the nodes below by one row that counts their states."""
    if not node.children:
        return node
    # States are counted in the order of their enum.
    states = [child.state for child in node.children if child.state is not None]
    counts = Counter(states)
    told = tuple(f"{counts[state]} {state}" for state in (type(states[0]) if states else ()) if counts[state])
    return dataclasses.replace(node, details=(*told, *node.details), children=())


def _cut(node: Node, rows: int) -> Node:
    """Keep the children around the one with the focus, and say how many are left out on both sides."""
    children = node.children
    place = next((i for i, child in enumerate(children) if child.has_focus), len(children) - 1)
    # One row is the node's own, and two may count the children that are left out.
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
