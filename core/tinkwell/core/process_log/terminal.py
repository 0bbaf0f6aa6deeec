"""Texts of others for the eyes of people, without what a terminal would obey.

Names, output of programs, errors of a server may hold anything: a sequence that moves the cursor, changes the title of
the window or answers in the user's place, or letters that turn a line around. Such characters are written as escapes.
"""

import re
from collections.abc import Callable

# Controls of both sets, without the tab and the end of a line; then what marks directions and languages, joins words,
# separates lines or stands for nothing, and halves of characters. What joins letters is needed by some scripts.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_OTHERS = (
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_HARMFUL = re.compile(f"[{_CONTROLS}{_OTHERS}]")
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def escaped(text: str) -> str:
    """Escape what a terminal would obey, or would not show; tabs and ends of lines stay."""
    return _escape(text, lambda character: character.encode("unicode_escape").decode())


def plain(text: str) -> str:
    """Take colours out of what a program printed, and escape all else as `escaped` does."""
    return escaped(_COLOUR.sub("", text)) if "\x1b" in text else escaped(text)


def coloured(text: str) -> str:
    """Escape as `escaped` does, but for colours."""
    if "\x1b" not in text:
        return escaped(text)
    # The pattern has a group, so every other part is a colour.
    return "".join(part if index % 2 else escaped(part) for index, part in enumerate(_COLOUR.split(text)))


def in_json(text: str) -> str:
    """Escape the same in a JSON text, which then still means the same."""
    return _escape(text, _json_escape)


def in_yaml(text: str) -> str:
    """Escape the same in a YAML text whose scalars with such characters are in double quotes; the meaning stays."""
    return _escape(text, _yaml_escape)


def _escape(text: str, how: Callable[[str], str]) -> str:
    # Most texts are of this kind, and it is found out in a moment.
    if text.isascii() and text.isprintable():
        return text
    return _HARMFUL.sub(lambda found: how(found[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def _yaml_escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 1 << 16 else f"\\U{ord(character):08x}"
