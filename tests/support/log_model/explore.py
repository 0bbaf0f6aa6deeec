"""Visits every state that steps can lead to, in any order, and counts the ways through them."""

import contextlib
import dataclasses
import gc
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol

State = Hashable


class Model(Protocol):
    """What can be explored."""

    def start(self) -> State: ...

    def moves(self, state: State) -> Iterable[tuple[str, State]]:
        """Yield each step that can be taken, and where it leads; raise `Broken` from a step that must not be."""

    def is_finished(self, state: State) -> bool:
        """Whether this is an end as it should be."""


class Broken(Exception):
    """A promise is broken; `step` is the last one."""

    def __init__(self, promise: str, step: str) -> None:
        self.promise = promise
        self.step = step
        super().__init__(promise)


@dataclasses.dataclass(frozen=True)
class Explored:
    """What was found. `trace` leads to a broken promise; an empty `broken` means that all were kept."""

    states: int
    transitions: int
    interleavings: int = 0
    broken: str = ""
    trace: Sequence[str] = ()

    def __str__(self) -> str:
        steps = "".join(f"\n  {number:2}. {step}" for number, step in enumerate(self.trace, 1))
        return f"{self.states:,} states, {self.transitions:,} steps: {self.broken or 'every promise was kept'}{steps}"


def explore(model: Model) -> Explored:
    """Visit every reachable state, breadth first, so that a trace is as short as can be."""
    with _uncollected():
        return _explore(model)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Have no garbage collected: to look through a million states, which are no circles, takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _explore(model: Model) -> Explored:
    start = model.start()
    numbers: dict[State, int] = {start: 0}
    order = [start]
    origins: list[tuple[int, str]] = [(-1, "")]
    edges: list[list[int]] = []
    count = 0
    # The list grows while it is walked.
    for here, state in enumerate(order):
        targets = []
        try:
            for label, target in model.moves(state):
                number = numbers.get(target)
                if number is None:
                    number = numbers[target] = len(order)
                    order.append(target)
                    origins.append((here, label))
                targets.append(number)
        except Broken as broken:
            return Explored(len(order), count, 0, broken.promise, [*_trace(origins, here), broken.step])
        count += len(targets)
        edges.append(targets)
    component, stuck, paths = _survey(edges, [model.is_finished(state) for state in order])
    if stuck is not None:
        never = "what is committed is never released, whatever happens next"
        return Explored(len(order), count, 0, never, _trace(origins, stuck))
    return Explored(len(order), count, paths[component[0]])


def _trace(origins: Sequence[tuple[int, str]], state: int) -> list[str]:
    steps = []
    while state > 0:
        state, label = origins[state]
        steps.append(label)
    return steps[::-1]


def _survey(edges: list[list[int]], is_finished: list[bool]) -> tuple[list[int], int | None, list[int]]:
    """Return each state's component, a state from which no proper end can be reached, and the ways from each component.

    States that lead to one another, as fruitless polls do, form one component. A way is a path from component to
    component, so steps that come back to where they began are not counted, however often they are taken.
    """
    component, members = _components(edges)
    paths: list[int] = []
    # A component comes after all that it leads to.
    reaches: list[bool] = []
    for number, states in enumerate(members):
        leaving = [component[target] for state in states for target in edges[state] if component[target] != number]
        reaches.append(any(is_finished[state] for state in states) or any(reaches[target] for target in leaving))
        if not reaches[-1]:
            return component, states[0], paths
        paths.append(sum(paths[target] for target in leaving) if leaving else 1)
    return component, None, paths


def _components(edges: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Find the strongly connected components (Tarjan 1972), without recursion."""
    size = len(edges)
    index, low, component = [-1] * size, [0] * size, [-1] * size
    members: list[list[int]] = []
    path: list[int] = []
    count = 0
    for root in range(size):
        if index[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = count
                count += 1
                path.append(node)
            targets = edges[node]
            while position < len(targets):
                target = targets[position]
                position += 1
                if index[target] < 0:
                    work += [(node, position), (target, 0)]
                    break
                if component[target] < 0:
                    low[node] = min(low[node], low[target])
            else:
                if low[node] == index[node]:
                    members.append(_cut(path, node, component, len(members)))
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return component, members


def _cut(path: list[int], node: int, component: list[int], number: int) -> list[int]:
    found = []
    while True:
        member = path.pop()
        component[member] = number
        found.append(member)
        if member == node:
            return found
