"""What each of this component's processes does around its work: ends on a signal, and writes a log."""

import asyncio
import gc
import json
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

from tinkwell.server.app.loop import Loop

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Libraries that tell a lot when all is well.
_TALKATIVE = ("alembic", "asyncio", "uvicorn")
# Objects made before the youngest are looked at, and how often they are before the older ones.
_COLLECT_AFTER = (50_000, 20, 20)
_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def run(work: Coroutine[Any, Any, T]) -> T | None:
    """Run the work to its end, or until SIGINT or SIGTERM asks to stop; None then. A second signal kills at once.

    Of several errors that came together, the first is raised.
    """
    _collect_seldom()
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            return runner.run(_until_signalled(work))
    except BaseExceptionGroup as group:
        raise first(group) from group


def _collect_seldom() -> None:
    """Let the garbage collector pass over what was imported, and look at the rest less often.

    A server makes little that refers to itself, but thousands of objects a second, which would have it look all the
    time: an eighth of what delivering to hundreds of watchers costs.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


async def _until_signalled(work: Coroutine[Any, Any, T]) -> T | None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    is_stopping = False

    def stop() -> None:
        nonlocal is_stopping
        is_stopping = True
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        return await work
    except asyncio.CancelledError:
        if not is_stopping:
            raise
        return None


def first(error: BaseException) -> BaseException:
    """Return the first of several errors that came together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def configure_logging(*, log_format: Literal["text", "json"], log_level: str, worker: int | None = None) -> None:
    """Write the log to standard error, a line an event; each carries the worker's number, if there is one."""
    handler = logging.StreamHandler(sys.stderr)
    if worker is not None:
        handler.addFilter(lambda record: _mark(record, worker))
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    logging.basicConfig(handlers=[handler], level=log_level.upper(), force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _mark(record: logging.LogRecord, worker: int) -> bool:
    record.worker = worker
    return True


class _TextFormatter(logging.Formatter):
    """Time, level, message and fields, as the provisioner writes them, which `tinkwell dev` shows beside the server."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 the library's name
        fields = (f" {name}={_quoted(value)}" for name, value in _fields(record).items())
        return super().formatMessage(record) + "".join(fields)


class _JsonFormatter(logging.Formatter):
    """One JSON object a line; the fields of the event stand beside time, level, logger and message."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(
            line | {name: value for name, value in _fields(record).items() if name not in line}, default=str
        )


def _quoted(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(character.isspace() for character in text) else text


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}
