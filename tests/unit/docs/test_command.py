"""Every command line that the manual shows can be typed: its command is there, and has its options."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import rich_click as click

from support import page
from support.reference import command

ROOT = page.DOCS.parent
PAGES = [*sorted(page.DOCS.rglob("*.md")), ROOT / "README.md"]
COMMANDS = {tuple(each.path.split()): each for each in command.every()}
# What stands behind one of these is another command's, or a remark.
_END = re.compile(r"[|;&]| #|\)|`|\$\(")
_OPTION = re.compile(r"(?<!\S)(--[a-z][a-z-]*)")
_WORD = re.compile(r"[a-z][a-z-]*$")


def lines(text: str) -> Iterator[str]:
    """Yield what a page has as code and begins with `tinkwell `, with what goes on behind a backslash."""
    shown = re.sub(r"\\\n\s*", "", text)
    for block in page.blocks(shown):
        if block.language in ("console", "sh"):
            yield from re.findall(r"^(?:\$ )?(?:.*\| )?(tinkwell .*)$", block.text, re.MULTILINE)
    prose = page.without_blocks(shown)
    yield from re.findall(r"^ {4}(tinkwell .*)$", prose, re.MULTILINE)
    yield from re.findall(r"`(tinkwell [^`]*)`", prose)


def problem(line: str) -> str:
    """Say what cannot be typed in a line; empty where all of it can."""
    line = _END.split(line)[0]
    words = [word for word in line.split() if not word.startswith("-")]
    path = next((tuple(words[:size]) for size in range(len(words), 0, -1) if tuple(words[:size]) in COMMANDS), ())
    found = COMMANDS[path]
    rest = words[len(path) :]
    if isinstance(found.command, click.Group) and rest and _WORD.match(rest[0]) and "--" not in line:
        return f"{' '.join(path)} has no command {rest[0]}"
    known = {name for each in found.command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {name for each in COMMANDS[("tinkwell",)].command.params for name in each.opts} | {"--help"}
    return ", ".join(f"{' '.join(path)} has no option {name}" for name in _OPTION.findall(line) if name not in known)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_shows_can_be_typed(path: Path) -> None:
    found = {line: problem(line) for line in lines(path.read_text(encoding="utf-8"))}
    assert not {line: told for line, told in found.items() if told}
