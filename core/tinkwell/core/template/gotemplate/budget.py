"""What one run of a template may cost: steps, and the characters that are read and written.

Each node that is run, each operand and each name that is followed is a step. What a function costs grows with what it
is given and what it makes, so both are counted, in one place for all functions (`eval`). Functions need know nothing
of it; they must only take time in proportion to that, and never change in place what they are given.

A list or an object counts with all that is in it, unless the function looks at none of that (`function.SHALLOW`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinkwell.core.template.gotemplate.fault import Fault
from tinkwell.core.template.gotemplate.syntax import node
from tinkwell.core.value import document

Value = node.Value

# So many characters may be given to one call. Nothing that is longer could be printed.
MAX_ARGUMENT_CHARACTERS = 1024 * 1024
# What functions make of lists and objects nests no deeper than documents do, and some of their own around them.
MAX_VALUE_DEPTH = document.MAX_DEPTH + 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """So much one run may cost."""

    steps: int
    characters: int


# Everything that an author may need. It takes a few seconds at most.
FULL = Allowance(steps=1_000_000, characters=16 * 1024 * 1024)


class Exhausted(Fault):
    """The run has cost what it may cost. With a larger allowance it might come to an end."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """A value with its characters, an item counting as one, and how many lists and objects nest in it.

    The value is kept here so that its identity is nobody else's.
    """

    value: Value
    characters: int
    depth: int


class Budget:
    """Counts what a run costs."""

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance
        self._steps = 0
        self._characters = 0
        # What was measured once is not walked through again. Values do not change while a template runs.
        self._measures: dict[int, _Measure] = {}

    def spend(self, steps: int, offset: int) -> None:
        """Count steps; raises Exhausted."""
        self._steps += steps
        if self._steps > self._allowance.steps:
            what = f"the template takes more than {self._allowance.steps:,} steps"
            raise Exhausted(f"{what}; let it do less, such as over shorter lists", offset=offset)

    def give(self, function: str, arguments: Sequence[Value], offset: int, *, is_shallow: bool) -> int:
        """Count what a function is given, before it is called, and tell it; raises Fault."""
        characters = self._characters_of(arguments, offset, is_shallow=is_shallow)
        if characters > MAX_ARGUMENT_CHARACTERS:
            what = f"{function} is given too much; it takes at most {MAX_ARGUMENT_CHARACTERS:,} characters"
            raise Fault(what, offset=offset)
        self.charge(characters, offset)
        return characters

    def take(self, made: Value, offset: int, *, is_shallow: bool) -> None:
        """Count what a function has made; raises Fault."""
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
