"""Makes untrusted texts safe for a terminal.

Names, output of programs and errors of a server may hold any characters: a sequence that moves the cursor, changes the
title of the window or answers in the user's place, or characters that reverse a line. Such characters are written as
escapes.
"""

import re
from collections.abc import Callable

# Control characters of both sets except tab and line feed; then characters that mark directions and languages, join
# words, separate lines or have no meaning, and lone surrogates. Characters that join letters stay, because some scripts
# need them.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_OTHERS = (
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_HARMFUL = re.compile(f"[{_CONTROLS}{_OTHERS}]")
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")


def escaped(text: str) -> str:
    """Escape characters that a terminal would obey or not show; tabs and line feeds stay."""
    return _escape(text, lambda character: character.encode("unicode_escape").decode())


def plain(text: str) -> str:
    """Remove colours from a program's output, and escape the rest as `escaped` does."""
    return escaped(_COLOUR.sub("", text)) if "\x1b" in text else escaped(text)


def coloured(text: str) -> str:
    """Escape as `escaped` does, and keep colours."""
    if "\x1b" not in text:
        return escaped(text)
    # The pattern has a group, so every other part is a colour.
    return "".join(part if index % 2 else escaped(part) for index, part in enumerate(_COLOUR.split(text)))


def in_json(text: str) -> str:
    """Escape the same characters in a JSON text without changing its meaning."""
    return _escape(text, _json_escape)


def in_yaml(text: str) -> str:
    """Escape the same characters in a YAML text that has them only in double-quoted scalars; its meaning stays."""
    return _escape(text, _yaml_escape)


def _escape(text: str, how: Callable[[str], str]) -> str:
    # A fast test that is true for most texts.
    if text.isascii() and text.isprintable():
        return text
    return _HARMFUL.sub(lambda found: how(found[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def _yaml_escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) < 1 << 16 else f"\\U{ord(character):08x}"
