"""Shows the server what a charm of ops has deferred. The charm's file has it, and nothing of that is ever believed.

Only the table of notices is read: its snapshots are pickled objects of strangers. Each row is a handler that is to hear
an event once more; the path of the event has a number, so that no two rows are alike.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from tinkwell.core.unit import limit
from tinkwell.core.unit.effect import Notice

BUSY_SECONDS = 5.0
# Three of them, and what stands between, are less than a handler's name may have.
_MAX_NAME = 200
_MAX_BYTES = 1_000
_SELECT = "SELECT event_path, observer_path, method_name FROM notice ORDER BY sequence LIMIT ?"


class Unreadable(Exception):
    """The charm's file cannot be read; the text says why."""


def read(path: Path) -> list[str]:
    """Return the notices of a charm's file in their order, each as the name of its handler. Raises `Unreadable`.

    A file that is not there, or that has no such table, has none.
    """
    if not path.is_file() or path.is_symlink():
        return []
    try:
        # Immutable: no lock is taken, and no journal is played back, for the charm has ended.
        with contextlib.closing(
            sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True, timeout=BUSY_SECONDS)
        ) as database:
            rows = database.execute(_SELECT, (limit.NOTICES + 1,)).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise Unreadable(f"the state of the charm cannot be read: {error}") from error
    except sqlite3.DatabaseError as error:
        raise Unreadable(f"the state of the charm cannot be read: {error}") from error
    return list(dict.fromkeys(_name(row) for row in rows))


def added(found: Sequence[str], known: Iterable[str], *, ordinal: int, event: str) -> tuple[Notice, ...]:
    """Return the notices that an event has brought, of those that are found now."""
    before = frozenset(known)
    return tuple(Notice(ordinal=ordinal, handler=each, event=event) for each in found if each not in before)


def consumed(found: Sequence[str], known: Mapping[str, Notice]) -> tuple[Notice, ...]:
    """Return the known notices that the charm's file no longer holds."""
    left = frozenset(found)
    return tuple(notice for handler, notice in known.items() if handler not in left)


def _name(row: tuple[object, ...]) -> str:
    """Name a notice: its handler, and the event with its number, such as `Web._on_start for Web/on/start[7]`."""
    event, observer, method = (_plain(value) for value in row)
    return f"{observer}.{method} for {event}".encode()[:_MAX_BYTES].decode(errors="ignore")


def _plain(value: object) -> str:
    """Return a text of a stranger's file as it may be stored and shown."""
    text = value if isinstance(value, str) else repr(value)
    return (
        "".join(each if each.isprintable() else "\ufffd" for each in text[:_MAX_NAME]).encode(errors="replace").decode()
    )
