"""Values that stand for secrets, and a look for them in what people read."""

import base64
import math
import urllib.parse

_MARK = "kanarienvogel"


def named(name: str) -> str:
    """Return a secret that is recognised wherever it turns up."""
    return f"{_MARK}-{name}"


def lines_with(text: str) -> list[str]:
    """Return the lines that hold a canary: as it is, escaped, or in Base64."""
    signs = [_MARK, *_in_base64(_MARK.encode())]
    return [line for line in text.splitlines() if any(sign in urllib.parse.unquote(line) for sign in signs)]


def _in_base64(mark: bytes) -> list[str]:
    """Return what a text in Base64 shows of these bytes, for each place in a group of three that they may begin at."""
    found = []
    for before in range(3):
        first, end = math.ceil(before * 8 / 6), (before + len(mark)) * 8 // 6
        found.append(base64.b64encode(bytes(before) + mark).decode()[first:end])
    return found
