"""The child's side: sets the limits, then answers calls one after the other until the input ends.

The module that the parent names has `handle(request, begin)`. It takes the request as a JSON value and returns the
answer as a JSON value. It calls `begin(name)` when a piece of its work begins: each piece has the processor time of a
call for itself, and an error names the piece that takes too long.
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
    """Run in the process that the parent started; return when the parent closes the input."""
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
    """Reads calls from one descriptor, and writes their results to another."""

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
            # The end of the module's work may have used up its time.
            self._arm(self._limits.cpu_seconds)
            body = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        except MemoryError:
            raise
        # The outermost frame of a call. The error's text may quote the input, so the parent gets only its place and
        # type.
        except Exception as error:
            return frame.FAILED, _place(error).encode()
        return (frame.TOO_LARGE, b"") if len(body) > self._limits.answer_bytes else (frame.ANSWER, body)

    def _begin(self, name: str) -> None:
        self.send(frame.PIECE, name.encode(errors="replace")[: frame.MAX_PIECE_BYTES])
        self._arm(self._limits.cpu_seconds)

    def _read(self, size: int) -> bytes:
        """Return `size` bytes; none if the input has ended."""
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
