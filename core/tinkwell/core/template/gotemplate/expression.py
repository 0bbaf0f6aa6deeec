"""Makes programs of regular expressions: those of Go's package regexp, without the classes of Unicode and lines.

A program is a list of instructions; its end is the match. Its length is bounded, and so is that of an expression.
"""

import bisect
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.value import parse

MAX_CHARACTERS = 1_000
MAX_INSTRUCTIONS = 1_000
MAX_DEPTH = 20

_LAST = 0x10FFFF
_WORD = ("09", "AZ", "__", "az")
_CLASSES = {"d": ("09",), "s": ("\t\n", "\f\r", "  "), "w": _WORD}
_NAMED_CLASSES = {
    "alnum": ("09", "AZ", "az"),
    "alpha": ("AZ", "az"),
    "digit": ("09",),
    "lower": ("az",),
    "punct": ("!/", ":@", "[`", "{~"),
    "space": ("\t\r", "  "),
    "upper": ("AZ",),
    "word": _WORD,
    "xdigit": ("09", "AF", "af"),
}
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COUNT = re.compile(r"\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|(?P<flags>[is]*)(?P<end>[:)]))", re.ASCII)
_NAMED_CLASS = re.compile(r"\[:([a-z]+):\]")


@dataclass(frozen=True, slots=True)
class Characters:
    """Goes on behind one of these characters. The ranges are in order and apart; both ends belong to them."""

    firsts: tuple[int, ...]
    lasts: tuple[int, ...]
    is_negated: bool = False
    ignores_case: bool = False

    def __contains__(self, character: str) -> bool:
        """Tell whether a character is one of these."""
        is_member = self._has(character)
        if self.ignores_case and not is_member:
            is_member = any(len(other) == 1 and self._has(other) for other in (character.lower(), character.upper()))
        return is_member != self.is_negated

    def _has(self, character: str) -> bool:
        at = bisect.bisect_right(self.firsts, ord(character)) - 1
        return at >= 0 and ord(character) <= self.lasts[at]


@dataclass(frozen=True, slots=True)
class Fork:
    """Goes on at each of several places, counted from this one."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Goes on where the place in the text is right, such as its beginning."""

    holds: Callable[[str, int], bool]


Instruction: TypeAlias = Characters | Fork | Check
Program: TypeAlias = list[Instruction]
Range: TypeAlias = tuple[int, int]


@functools.lru_cache(maxsize=64)
def compile_expression(text: str) -> tuple[Instruction, ...]:
    """Make a program of an expression; raises BadArgument where it is none, or is too long."""
    if len(text) > MAX_CHARACTERS:
        raise _fault(f"the expression has more than {MAX_CHARACTERS:,} characters")
    parser = _Parser(text)
    program = parser.alternatives()
    if parser.at < len(text):
        raise _fault("a parenthesis is closed that is not open")
    return tuple(program)


class _Parser:
    """Parses an expression from left to right."""

    def __init__(self, text: str) -> None:
        self.at = 0
        self._text = text
        self._ignores_case = False
        self._dot_takes_line_ends = False
        self._depth = 0

    def alternatives(self) -> Program:
        program = self._sequence()
        while self._skip("|"):
            other = self._sequence()
            # Either of both; from the end of the first one, beyond the other.
            program = [Fork((1, len(program) + 2)), *program, Fork((len(other) + 1,)), *other]
            _check_size(len(program))
        return program

    def _sequence(self) -> Program:
        program: Program = []
        while self.at < len(self._text) and self._text[self.at] not in "|)":
            program += self._repeated(self._atom())
            _check_size(len(program))
        return program

    def _repeated(self, once: Program) -> Program:
        if self._skip("*"):
            program = _any_number(once)
        elif self._skip("+"):
            program = [*once, Fork((-len(once), 1))]
        elif self._skip("?"):
            program = _optional(once)
        elif found := _COUNT.match(self._text, self.at):
            self.at = found.end()
            program = _counted(once, found)
        else:
            return once
        self._skip("?")  # Whether the shortest or the longest match is meant makes no difference here.
        if self._is_repetition(self.at):
            raise _fault("a repetition is repeated; put parentheses around it")
        return program

    def _atom(self) -> Program:
        match self._next():
            case "(":
                return self._group()
            case "[":
                return [self._brackets()]
            case "." if self._dot_takes_line_ends:
                return [_characters([(0, _LAST)])]
            case ".":
                return [_characters([(ord("\n"), ord("\n"))], is_negated=True)]
            case "^":
                return [Check(_is_start)]
            case "$":
                return [Check(_is_end)]
            case "\\":
                return [self._escape()]
            case character if self._is_repetition(self.at - 1):
                raise _fault(f"nothing stands before {character}")
            case character:
                return [_characters([(ord(character), ord(character))], ignores_case=self._ignores_case)]

    def _is_repetition(self, at: int) -> bool:
        return self._text[at : at + 1] in ("*", "+", "?") or bool(_COUNT.match(self._text, at))

    def _group(self) -> Program:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _fault(f"parentheses are nested deeper than {MAX_DEPTH} levels")
        flags = self._ignores_case, self._dot_takes_line_ends
        found = _GROUP.match(self._text, self.at)
        if found:
            self.at = found.end()
            self._ignores_case |= "i" in (found["flags"] or "")
            self._dot_takes_line_ends |= "s" in (found["flags"] or "")
        elif self._text.startswith("?", self.at):
            raise _fault("what follows (? is not known")
        program: Program = []
        if not found or found["end"] != ")":
            program = self.alternatives()
            if not self._skip(")"):
                raise _fault("a parenthesis is not closed")
            self._ignores_case, self._dot_takes_line_ends = flags
        self._depth -= 1
        return program

    def _escape(self) -> Instruction:
        character = self._next()
        match character:
            case "A":
                return Check(_is_start)
            case "z":
                return Check(_is_end)
            case "b":
                return Check(_is_edge)
            case "B":
                return Check(lambda text, at: not _is_edge(text, at))
        return _characters(_escaped(character), ignores_case=self._ignores_case)

    def _brackets(self) -> Characters:
        is_negated = self._skip("^")
        ranges = self._member()
        while not self._skip("]"):
            ranges += self._member()
        return _characters(ranges, is_negated=is_negated, ignores_case=self._ignores_case)

    def _member(self) -> list[Range]:
        """Take a character, a range or a class within brackets."""
        if found := _NAMED_CLASS.match(self._text, self.at):
            if found[1] not in _NAMED_CLASSES:
                raise _fault(f"the class {found[0]} is not known")
            self.at = found.end()
            return _ranges(_NAMED_CLASSES[found[1]])
        first = self._end_of_range()
        is_range = self._text.startswith("-", self.at) and not self._text.startswith("-]", self.at)
        if len(first) > 1 or first[0][0] != first[0][1] or not is_range:
            return first
        self.at += 1
        last = self._end_of_range()
        if len(last) > 1 or last[0][0] != last[0][1]:
            raise _fault("a class within brackets is no end of a range")
        if last < first:
            raise _fault("a range within brackets ends before it begins")
        return [(first[0][0], last[0][1])]

    def _end_of_range(self) -> list[Range]:
        character = self._next()
        return _escaped(self._next()) if character == "\\" else [(ord(character), ord(character))]

    def _next(self) -> str:
        if self.at >= len(self._text):
            raise _fault("the expression ends too early")
        self.at += 1
        return self._text[self.at - 1]

    def _skip(self, character: str) -> bool:
        is_there = self._text.startswith(character, self.at)
        self.at += is_there
        return is_there


def _counted(once: Program, found: re.Match[str]) -> Program:
    least = int(found[1])
    most = int(found[3]) if found[3] else least
    if most < least:
        raise _fault(f"{found[0]} ends before it begins")
    optional = _optional(once)
    _check_size(len(once) * least + len(optional) * (most - least + 1))
    if found[2] and not found[3]:
        return [*once * least, *_any_number(once)]
    return [*once * least, *optional * (most - least)]


def _any_number(once: Program) -> Program:
    return [Fork((1, len(once) + 2)), *once, Fork((-len(once) - 1,))]


def _optional(once: Program) -> Program:
    return [Fork((1, len(once) + 1)), *once]


def _escaped(character: str) -> list[Range]:
    if members := _CLASSES.get(character.lower()):
        ranges = _ranges(members)
        return ranges if character.islower() else _complement(ranges)
    meant = _ESCAPES.get(character, character)
    if meant.isalnum() or not meant.isascii():
        raise _fault(f"the escape \\{parse.escape(character)} is not known")
    return [(ord(meant), ord(meant))]


def _characters(ranges: Iterable[Range], *, is_negated: bool = False, ignores_case: bool = False) -> Characters:
    apart: list[Range] = []
    for first, last in sorted(ranges):
        if apart and first <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], last))
        else:
            apart.append((first, last))
    return Characters(tuple(first for first, _ in apart), tuple(last for _, last in apart), is_negated, ignores_case)


def _ranges(members: Iterable[str]) -> list[Range]:
    return [(ord(member[0]), ord(member[1])) for member in members]


def _complement(ranges: Iterable[Range]) -> list[Range]:
    """Tell what is not in ranges that are in order and apart."""
    found: list[Range] = []
    at = 0
    for first, last in ranges:
        found.append((at, first - 1))
        at = last + 1
    return [*found, (at, _LAST)]


def _is_start(_text: str, at: int) -> bool:
    return at == 0


def _is_end(text: str, at: int) -> bool:
    return at == len(text)


def _is_edge(text: str, at: int) -> bool:
    word = _characters(_ranges(_WORD))
    return (at > 0 and text[at - 1] in word) != (at < len(text) and text[at] in word)


def _check_size(instructions: int) -> None:
    if instructions > MAX_INSTRUCTIONS:
        raise _fault(f"the expression has more than {MAX_INSTRUCTIONS:,} steps")


def _fault(problem: str) -> BadArgument:
    return BadArgument(f"regexMatch: {problem}")
