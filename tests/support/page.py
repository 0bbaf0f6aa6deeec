"""Pages of the documentation: their code blocks, and the commands in these with what they print.

A block's first line says its language, and after a blank what tests are to do with it:

    ```json state        it is an answer to `state`
    ```sh acme/note/run  it is this file

In a block of the language `console`, lines that begin with `$ ` are commands, which may go on behind a backslash, and
what follows is their output. There `…` stands for whatever was printed: alone on a line, for any number of lines. What
no test can run says so, with the reason: `console not run: needs a package index`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

NOT_RUN = "not run: "
DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is another one each time. Blanks are counted no more than columns are aligned.
_CHANGING = {
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b": "UUID",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z": "TIME",
    r"\b(?:\d+\.\d|\d+m\d\d)s\b": "SECONDS",
    r"(?<= )\d+\.\d(?= )": "SECONDS",
    r"\b(?:127\.0\.0\.1|localhost):\d+": "ADDRESS",
    r"postgresql://\S+": "URL",
    r"\b[0-9a-f]{32}:": "ENGINE:",
    r"[ \t]+": " ",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: its language, what is to be done with it, and its text."""

    language: str
    use: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page, and the lines that the page says it prints."""

    line: str
    output: tuple[str, ...]


def read(name: str) -> str:
    """Read a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """Return the code blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(text):
        language, _, use = match[1].partition(" ")
        found.append(Block(language, use, match[2]))
    return found


def without_blocks(text: str) -> str:
    """Return a page without its code blocks."""
    return _BLOCK.sub("", text)


def commands(text: str, *, are_run: bool = True) -> list[Command]:
    """Return the commands of a page that tests run, or those that are marked as not run, in order."""
    found = []
    for block in blocks(text):
        if block.language != "console" or block.use.startswith(NOT_RUN) is are_run:
            continue
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, *output = re.sub(r"\\\n", "", part).strip("\n").splitlines()
            found.append(Command(line, tuple(output)))
    return found


def agrees(told: tuple[str, ...], printed: str) -> bool:
    """Say whether a command has printed what the page says."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", r"[^\n]*") + "\n"
        for line in _plain("\n".join(told))
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _plain(printed))) is not None


def _plain(text: str) -> list[str]:
    for pattern, word in _CHANGING.items():
        text = re.sub(pattern, word, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]
