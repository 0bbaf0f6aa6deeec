"""Keeps the output of a task's program, which is a part of the task's result."""

import json

from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.unit import script

# The beginning of each output is kept: at most this many characters, and this many bytes as JSON.
MAX_CHARACTERS = 64 * 1024
MAX_BYTES = 200 * 1024


class Spoken:
    """The lines of both outputs."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {"STDOUT": [], "STDERR": []}
        self._left = dict.fromkeys(self._texts, MAX_CHARACTERS)

    async def hear(self, stream: str, line: str) -> None:
        """Take a line; characters beyond the limit are dropped."""
        kept = line.replace("\0", "\ufffd")[: self._left[stream]]
        if self._left[stream]:
            self._texts[stream].append(kept + "\n")
            self._left[stream] = max(0, self._left[stream] - len(kept) - 1)

    def result(self, values: JsonObject, ended: script.Ending) -> str:
        """Return the result of a task as JSON: the values that its program has set, its output and its exit code."""
        said = {
            key: _first("".join(self._texts[stream])) for key, stream in (("stdout", "STDOUT"), ("stderr", "STDERR"))
        }
        code = 128 + ended.signal if ended.signal else ended.code
        return json.dumps({**values, **{key: text for key, text in said.items() if text}, "return-code": code})


def _first(text: str) -> str:
    """Cut a text so that it has at most `MAX_BYTES` in JSON."""
    while (size := len(json.dumps(text))) > MAX_BYTES:
        text = text[: len(text) * MAX_BYTES // size - 1]
    return text
