"""The syntax tree of a Go template. Every node knows the offset of its source in the template's text."""

import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.value import document


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: text, a number, true, false or nil."""

    offset: int
    value: str | int | decimal.Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Field:
    """A path through maps: `.a.b` from the dot, `$x.a` from a variable, `(…).a` from a pipeline's value.

    Without names it is its base. `base` None is the dot.
    """

    offset: int
    base: "Variable | Pipeline | None"
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable with its `$`; `$` alone means all the values."""

    offset: int
    name: str


Operand: TypeAlias = Literal | Field


@dataclass(frozen=True, slots=True)
class Command:
    """A function with its arguments; without a function, the value of its only argument."""

    offset: int
    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which gets the value of the one before as its last argument."""

    offset: int
    commands: tuple[Command, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Text:
    """Text outside of actions, trimmed by the trim markers beside it."""

    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Print:
    """`{{pipeline}}`: the value becomes part of the output.

    `lead` is the white space before the value's first line if the last function is `indent` or `nindent` with a literal
    number, else None. It is text of the template, so YAML removes it.
    """

    offset: int
    pipeline: Pipeline
    source: str
    lead: str | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    """`{{$x := pipeline}}`, which makes a variable, or `{{$x = pipeline}}`, which changes one."""

    offset: int
    name: str
    is_new: bool
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """`{{if}}`, or `{{with}}` (`moves_dot`), with the variable it makes (or empty) and its `{{else}}`."""

    offset: int
    moves_dot: bool
    name: str
    pipeline: Pipeline
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Range:
    """`{{range}}` with the variables it makes (or empty) and its `{{else}}`."""

    offset: int
    key_name: str
    item_name: str
    pipeline: Pipeline
    body: tuple["Node", ...]
    otherwise: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """`{{break}}`, which ends the innermost range, or `{{continue}}` (`goes_on`), which takes its next item."""

    offset: int
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """`{{template "name" pipeline}}`: runs a definition, whose dot and `$` are the value; null without a pipeline."""

    offset: int
    name: str
    pipeline: Pipeline | None


Node: TypeAlias = Text | Print | Assign | Branch | Range | Leave | Insert
Value: TypeAlias = document.JsonValue


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole template: its own nodes, and its definitions by name."""

    nodes: tuple[Node, ...]
    definitions: Mapping[str, tuple[Node, ...]]
