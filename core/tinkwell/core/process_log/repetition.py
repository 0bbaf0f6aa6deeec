"""Limits lines that repeat, which a library may write thousands of times a second: they are counted, not written.

    line ─▶ written, the first MOST of a period … ─▶ counted ─▶ the period ends: one line says how many, and begins anew

Lines are alike if the same place in a program writes them, for an error of the same kind. Only warnings and errors are
counted, because other lines do not depend on what clients and peers do.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

# The number of like lines that are written in a period.
MOST = 20
PERIOD_SECONDS = 10.0
# The message of the line that replaces the counted ones.
COUNTED = "lines like this one were not written"
_SHOWN_CHARACTERS = 200

_Place: TypeAlias = tuple[str, int, str]


@dataclass(slots=True)
class _Lines:
    """The lines from one place since `began`, in seconds since 1970."""

    began: float
    written: int = 0
    counted: int = 0
    example: logging.LogRecord | None = None


class Repetition:
    """Decides for each line whether it is written. `write` gets the lines that report the counted ones."""

    def __init__(self, write: Callable[[logging.LogRecord], object]) -> None:
        self._write = write
        # Guards the fields below; any thread may log.
        self._lock = threading.Lock()
        self._lines: dict[_Place, _Lines] = {}
        self._timer: threading.Timer | None = None

    def is_written(self, record: logging.LogRecord) -> bool:
        """Return whether a line is written, and count it otherwise."""
        if record.levelno < logging.WARNING or record.msg is COUNTED:
            return True
        kind = record.exc_info[0] if record.exc_info else None
        place = (record.pathname, record.lineno, kind.__qualname__ if kind else "")
        with self._lock:
            lines = self._lines.get(place)
            if lines is None or (not lines.counted and record.created - lines.began >= PERIOD_SECONDS):
                lines = self._lines[place] = _Lines(began=record.created)
            if lines.written < MOST:
                lines.written += 1
                return True
            lines.counted += 1
            lines.example = record
            if self._timer is None:
                self._timer = threading.Timer(PERIOD_SECONDS, self.tell)
                self._timer.daemon = True
                self._timer.start()
            return False

    def tell(self) -> None:
        """Report the counted lines, and begin a new period."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            told = [lines for lines in self._lines.values() if lines.example is not None]
            self._lines.clear()
        for lines in told:
            if lines.example is not None:
                self._write(_summary(lines.example, lines.counted))


def _summary(example: logging.LogRecord, count: int) -> logging.LogRecord:
    """Return a line like the last counted one, with the number of counted lines."""
    try:
        line = example.getMessage()
    except (TypeError, ValueError):  # the arguments do not fit the message, which logging has reported before
        line = str(example.msg)
    return logging.makeLogRecord(
        {
            "name": example.name,
            "levelno": example.levelno,
            "levelname": example.levelname,
            "msg": COUNTED,
            "lines": count,
            "like": line.partition("\n")[0][:_SHOWN_CHARACTERS],
        }
    )
