"""Log lines on stderr: time, level, a constant message, and its fields."""

import logging
import sys

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class Formatter(logging.Formatter):
    """Writes what was given as `extra` as `key=value` behind the message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the base class names it)
        """Format the line."""
        fields = (f" {key}={_quoted(value)}" for key, value in vars(record).items() if key not in _OWN)
        return super().formatMessage(record) + "".join(fields)


def set_up(level: str) -> None:
    """Send everything from this level on to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # It warns of each connection that is made beside its pool, which is how many streams at once work.
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


def _quoted(value: object) -> str:
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    return repr(text) if any(character.isspace() for character in text) or not text else text
