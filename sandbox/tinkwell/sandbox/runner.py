"""The child's side: binds the process, then answers one call after the other until its input ends.

The module that the parent names has `handle(request, begin)`, which takes what the JSON of a request holds and returns
what the JSON of the answer shall hold. It calls `begin(name)` when a piece of its work begins: each piece has the
processor time of a call for itself, and its name stands in the error if it is the one that takes too much.
"""

import importlib
import json
import os
import traceback
from collections.abc import Callable
from typing import TypeAlias

from tinkwell.sandbox import frame, limit, secrecy

Begin: TypeAlias = Callable[[str], None]
Handle: TypeAlias = Callable[[object, Begin], object]
Arm: TypeAlias = Callable[[float], None]

_INPUT, _OUTPUT = 0, 1


def main(limits_text: str, module: str) -> None:
    """Run as the process that the parent started; returns when the parent closes the input."""
    limits = limit.Limits.load(limits_text)
    handle: Handle = importlib.import_module(module).handle
    kept = limit.leave_network()
    secrecy.hide()
    limit.silence()
    limit.set_limits(limits)
    runner = Runner(_INPUT, _OUTPUT, handle, limits, limit.arm)
    runner.send(frame.READY, kept.encode())
    try:
        runner.run()
    except MemoryError:
        os._exit(frame.MEMORY_EXIT_CODE)


class Runner:
    """Reads calls from one descriptor, and writes what comes of them to another."""

    def __init__(self, source: int, target: int, handle: Handle, limits: limit.Limits, arm: Arm) -> None:
        self._source = source
        self._target = target
        self._handle = handle
        self._limits = limits
        self._arm = arm

    def run(self) -> None:
        """Answer calls until the input ends."""
        while header := self._read(frame.HEADER.size):
            _, size = frame.HEADER.unpack(header)
            request = self._read(size)
            self._arm(self._limits.cpu_seconds)
            kind, body = self._answer(request)
            self._arm(0)
            self.send(kind, body)

    def send(self, kind: bytes, body: bytes) -> None:
        """Write one frame."""
        left = memoryview(frame.pack(kind, body))
        while left:
            left = left[os.write(self._target, left) :]

    def _answer(self, request: bytes) -> tuple[bytes, bytes]:
        try:
            answer = self._handle(json.loads(request), self._begin)
            # What the module did last may have used up its time.
            self._arm(self._limits.cpu_seconds)
            body = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except MemoryError:
            raise
        # The outermost frame of a call. Its text may quote what it worked on, so the parent learns the place alone.
        except Exception as error:
            return frame.FAILED, _place(error).encode()
        return (frame.TOO_LARGE, b"") if len(body) > self._limits.answer_bytes else (frame.ANSWER, body)

    def _begin(self, name: str) -> None:
        self.send(frame.PIECE, name.encode(errors="replace")[: frame.MAX_PIECE_BYTES])
        self._arm(self._limits.cpu_seconds)

    def _read(self, size: int) -> bytes:
        """Return so many bytes; nothing where the input has ended."""
        parts: list[bytes] = []
        while size:
            part = os.read(self._source, size)
            if not part:
                return b""
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _place(error: Exception) -> str:
    *_, (frame_of, line) = traceback.walk_tb(error.__traceback__)
    return f"{type(error).__name__} at {frame_of.f_code.co_filename}:{line}"
