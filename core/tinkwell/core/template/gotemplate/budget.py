"""The cost limits of one run of a template: steps, and characters that are read and written.

Each node that is run, each operand and each name in a path is a step. The cost of a function grows with its arguments
and its result; `eval` counts both for all functions. A function itself counts nothing. It must only take time in
proportion to its arguments and result, and must not change its arguments.

A list or an object counts with everything in it, unless the function looks at none of it (`function.SHALLOW`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinkwell.core.template.gotemplate.fault import Fault
from tinkwell.core.template.gotemplate.syntax import node
from tinkwell.core.value import document

Value = node.Value

# The most characters that one call may get. A longer text could not be printed.
MAX_ARGUMENT_CHARACTERS = 1024 * 1024
# Documents nest up to document.MAX_DEPTH; functions may put some more lists and objects around them.
MAX_VALUE_DEPTH = document.MAX_DEPTH + 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The limits of one run."""

    steps: int
    characters: int


# Enough for every real template; a run takes a few seconds at most.
FULL = Allowance(steps=1_000_000, characters=16 * 1024 * 1024)


class Exhausted(Fault):
    """The run has reached a limit. With a larger allowance it might succeed."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """The size of a value in characters, an item counting as one, and its depth.

    The value is kept here so that no other value gets its identity.
    """

    value: Value
    characters: int
    depth: int


class Budget:
    """Counts the cost of a run."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._steps = 0
        self._characters = 0
        # A value is measured once: values do not change while a template runs.
        self._measures: dict[int, _Measure] = {}

    def spend(self, steps: int, offset: int) -> None:
        """Count steps; raises Exhausted."""
        self._steps += steps
        if self._steps > self._allowance.steps:
            what = f"the template takes more than {self._allowance.steps:,} steps"
            raise Exhausted(f"{what}; let it do less, such as over shorter lists", offset=offset)

    def give(self, function: str, arguments: Sequence[Value], offset: int, *, is_shallow: bool) -> int:
        """Count the arguments of a function before the call, and return their characters; raises Fault."""
        characters = self._characters_of(arguments, offset, is_shallow=is_shallow)
        if characters > MAX_ARGUMENT_CHARACTERS:
            what = f"{function} is given too much; it takes at most {MAX_ARGUMENT_CHARACTERS:,} characters"
            raise Fault(what, offset=offset)
        self.charge(characters, offset)
        return characters

    def take(self, made: Value, offset: int, *, is_shallow: bool) -> None:
        """Count the result of a function; raises Fault."""
        self.charge(self._characters_of((made,), offset, is_shallow=is_shallow), offset)

    def charge(self, characters: int, offset: int) -> None:
        """Count characters that are read or written; raises Exhausted."""
        self._characters += characters
        if self._characters > self._allowance.characters:
            what = f"the template reads and writes more than {self._allowance.characters:,} characters"
            raise Exhausted(f"{what}; give its functions less, or call them less often", offset=offset)

    def _characters_of(self, values: Iterable[Value], offset: int, *, is_shallow: bool) -> int:
        characters = 0
        for value in values:
            if isinstance(value, str):
                characters += 1 + len(value)
            elif isinstance(value, list | dict) and not is_shallow:
                characters += self._measure(value, offset).characters
            else:
                characters += 1
        return characters

    def _measure(self, value: "list[Value] | dict[str, Value]", offset: int) -> _Measure:
        if (known := self._measures.get(id(value))) is not None:
            return known
        self.spend(1, offset)
        items: Iterable[Value] = value.values() if isinstance(value, dict) else value
        characters = 1 + (sum(map(len, value)) if isinstance(value, dict) else 0)
        depth = 0
        for item in items:
            if isinstance(item, str):
                characters += 1 + len(item)
            elif isinstance(item, list | dict):
                measure = self._measure(item, offset)
                characters += measure.characters
                depth = max(depth, measure.depth)
            else:
                characters += 1
        if depth >= MAX_VALUE_DEPTH:
            raise Fault(f"lists and objects nest deeper than {MAX_VALUE_DEPTH} levels", offset=offset)
        found = self._measures[id(value)] = _Measure(value, characters, depth + 1)
        return found
