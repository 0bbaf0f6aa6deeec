"""Values that stand for secrets, and a look for them in what people read."""

import base64
import math
import subprocess
import urllib.parse
from pathlib import Path

_MARK = "kanarienvogel"


def named(name: str) -> str:
    """Return a secret that is recognised wherever it turns up."""
    return f"{_MARK}-{name}"


def lines_with(text: str) -> list[str]:
    """Return the lines that hold a canary: as it is, escaped, or in Base64."""
    signs = _signs(_MARK)
    return [line for line in text.splitlines() if any(sign in urllib.parse.unquote(line) for sign in signs)]


def files_with(folder: Path, mark: str, *, since: float) -> list[str]:
    """Return the files below a folder that hold a mark, which has unreserved characters alone, as it is or in Base64.

    Only files that were changed since then, in seconds of the epoch, are read: no other one can hold a mark that was
    made then, and an engine keeps gigabytes. That is told by the time that no program can set. What goes away meanwhile
    holds nothing.
    """
    signs = [argument for sign in _signs(mark) for argument in ("-e", sign)]
    # The clock of files is some milliseconds behind.
    changed: list[str | Path] = ["find", folder, "-type", "f", "-newerct", f"@{since - 1}"]
    searched = ["grep", "--text", "--files-with-matches", "--no-messages", "--fixed-strings", *signs]
    command = [*changed, "-exec", *searched, "{}", "+"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    return found.stdout.splitlines()


def _signs(mark: str) -> list[str]:
    return [mark, *_in_base64(mark.encode())]


def _in_base64(mark: bytes) -> list[str]:
    """Return what a text in Base64 shows of these bytes, for each place in a group of three that they may begin at."""
    found = []
    for before in range(3):
        first, end = math.ceil(before * 8 / 6), (before + len(mark)) * 8 // 6
        found.append(base64.b64encode(bytes(before) + mark).decode()[first:end])
    return found
