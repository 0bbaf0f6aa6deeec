"""Splits a Go template into text and actions, and actions into tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.template.gotemplate import fault
from tinkwell.core.value import parse

MAX_ACTIONS = 20_000

SPACE = " \t\r\n"
_LEFT_TRIM = re.compile(r"-[ \t\r\n]")
_RIGHT = re.compile(r"[ \t\r\n]+-\}\}|[ \t\r\n]*\}\}")
_TOKEN = re.compile(
    r"""(?P<TEXT>"(?:[^"\\\n]|\\.)*+"|`[^`]*`)
    |(?P<CHARACTER>'(?:[^'\\\n]|\\.)*+')
    |(?P<NUMBER>[+-]?\.?[0-9][\w.]*+(?:(?<=[eE])[+-]\w++)?)
    |(?P<FIELD>\.[^\W\d]\w*+)
    |(?P<DOT>\.)
    |(?P<VARIABLE>\$\w*+)
    |(?P<WORD>[^\W\d]\w*+)
    |(?P<PUNCTUATION>:=|[=|(),])""",
    re.VERBOSE,
)


class Kind(StrEnum):
    """The kind of a token."""

    TEXT = "TEXT"
    CHARACTER = "CHARACTER"
    NUMBER = "NUMBER"
    FIELD = "FIELD"
    DOT = "DOT"
    VARIABLE = "VARIABLE"
    WORD = "WORD"
    PUNCTUATION = "PUNCTUATION"


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an action; `is_spaced`: white space comes before it."""

    kind: Kind
    text: str
    offset: int
    is_spaced: bool


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text between actions, already trimmed."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class ActionPiece:
    """The tokens between `{{` and `}}`, and the source of the whole action."""

    tokens: tuple[Token, ...]
    offset: int
    source: str


@dataclass(frozen=True, slots=True)
class _Action:
    piece: ActionPiece | None  # None for a comment.
    end: int
    trims_left: bool
    trims_right: bool


def cut(text: str) -> Iterator[TextPiece | ActionPiece]:
    """Split a template into its pieces, in order; comments and empty texts are left out."""
    at = 0
    trims = False
    for _ in range(MAX_ACTIONS + 1):
        left = text.find("{{", at)
        if left < 0:
            yield from _text(text[at:], at, trims_left=trims, trims_right=False)
            return
        action = _cut_action(text, left)
        yield from _text(text[at:left], at, trims_left=trims, trims_right=action.trims_left)
        if action.piece:
            yield action.piece
        at, trims = action.end, action.trims_right
    raise fault.Fault(f"more than {MAX_ACTIONS:,} actions", offset=at)


def _text(text: str, offset: int, *, trims_left: bool, trims_right: bool) -> Iterator[TextPiece]:
    if trims_left:
        kept = text.lstrip(SPACE)
        offset += len(text) - len(kept)
        text = kept
    if trims_right:
        text = text.rstrip(SPACE)
    if text:
        yield TextPiece(text, offset)


def _cut_action(text: str, left: int) -> _Action:
    at = left + 2
    trims_left = bool(_LEFT_TRIM.match(text, at))
    if trims_left:
        at += 1
    if text.startswith("/*", at + trims_left):
        return _cut_comment(text, left, at + trims_left, trims_left)
    tokens: list[Token] = []
    while not (right := _RIGHT.match(text, at)):
        token = _next_token(text, at, left)
        tokens.append(token)
        at = token.offset + len(token.text)
    piece = ActionPiece(tuple(tokens), left, text[left : right.end()])
    return _Action(piece, right.end(), trims_left, trims_right=right[0].endswith("-}}"))


def _cut_comment(text: str, left: int, start: int, trims_left: bool) -> _Action:
    end = text.find("*/", start + 2)
    right = _RIGHT.match(text, end + 2) if end >= 0 else None
    if not right:
        raise fault.Fault("the comment is not closed; close it with */}}", offset=left)
    return _Action(None, right.end(), trims_left, trims_right=right[0].endswith("-}}"))


def _next_token(text: str, at: int, left: int) -> Token:
    start = at
    while start < len(text) and text[start] in SPACE:
        start += 1
    if start == len(text) or text.startswith("{{", start):
        raise fault.Fault("the action is not closed; close it with }}", offset=left)
    found = _TOKEN.match(text, start)
    if not found:
        if text[start] in "\"`'":
            raise fault.Fault("the quoted text is not closed", offset=start)
        raise fault.Fault(f"unexpected {parse.show(text[start])} in an action", offset=start)
    return Token(Kind(found.lastgroup or ""), found[0], start, is_spaced=start > at)
