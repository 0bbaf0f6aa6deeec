"""The log of each process: one line for an event on standard error, without secrets.

Tinkwell's own loggers follow the chosen level. Libraries log warnings and errors, whatever the level: their other
lines, such as the address of each request, may contain secrets, and help only their developers. Repeated warnings are
counted.
"""

import json
import logging
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Literal, TextIO

from tinkwell.core.process_log import redaction, terminal
from tinkwell.core.process_log.repetition import Repetition

logger = logging.getLogger(__name__)

_OWN = "tinkwell"
# Levels of single libraries. urllib3 warns of each connection beyond its pool, which is normal with many streams.
_LIBRARY_LEVELS = {"urllib3.connectionpool": logging.ERROR}
_FIELDS_OF_ANY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up(level: str, *, log_format: Literal["text", "json"] = "text", worker: int | None = None) -> None:
    """Begin to write the log; each line has the worker's number if there is one.

    Warnings and uncaught errors are logged, too, because Python's default output would show secrets.
    """
    chosen = logging.getLevelNamesMapping()[level.upper()]
    handler = _Handler(sys.stderr)
    if worker is not None:
        handler.addFilter(lambda record: _mark(record, worker))
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=max(chosen, logging.WARNING), force=True)
    logging.getLogger(_OWN).setLevel(chosen)
    for name, library_level in _LIBRARY_LEVELS.items():
        logging.getLogger(name).setLevel(library_level)
    logging.captureWarnings(True)
    _log_uncaught()


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines, and at its end the number of lines that it left out."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._repetition = Repetition(self.handle)
        self.addFilter(_is_told)
        self.addFilter(self._repetition.is_written)

    def close(self) -> None:
        """Report the counted lines; logging calls it when the process ends."""
        self._repetition.tell()
        super().close()


def _is_told(record: logging.LogRecord) -> bool:
    """Whether a record is written; a library may have set a level of its own."""
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == _OWN


def _mark(record: logging.LogRecord, worker: int) -> bool:
    record.worker = worker
    return True


def _log_uncaught() -> None:
    """Log uncaught errors, unless another hook, such as a test runner's, is installed."""

    def log(error: BaseException | None, **fields: object) -> None:
        logger.critical("an error was not caught", exc_info=error, extra=fields)

    def in_main_thread(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            log(error)

    def in_thread(arguments: threading.ExceptHookArgs) -> None:
        # SystemExit is a normal end of a thread, as of a process.
        if not isinstance(arguments.exc_value, SystemExit):
            log(arguments.exc_value)

    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = in_main_thread
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = in_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = lambda arguments: log(
            arguments.exc_value, cause=f"{arguments.err_msg or 'ignored'}: {arguments.object!r}"
        )


class TextFormatter(logging.Formatter):
    """Formats time, level and message, followed by the `extra` fields as NAME=VALUE."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback below it, both safe for a terminal."""
        return terminal.escaped(redaction.redact(super().format(record)))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the base class names it)
        """Return the line."""
        fields = (f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        return super().formatMessage(record) + "".join(fields)


class JsonFormatter(logging.Formatter):
    """Formats one JSON object in a line; the `extra` fields are beside time, level, logger and message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redaction.redact(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = redaction.redact(self.formatException(record.exc_info))
        more = {name: _redacted(value) for name, value in _fields(record).items() if name not in line}
        return terminal.in_json(json.dumps(line | more))


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _FIELDS_OF_ANY_RECORD}


def _quoted(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else redaction.redact(str(value))
    return text if text and text.isprintable() and " " not in text else repr(text)


def _redacted(value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(name): _redacted(item) for name, item in value.items()}
        case list() | tuple():
            return [_redacted(item) for item in value]
        case _:
            return redaction.redact(str(value))
