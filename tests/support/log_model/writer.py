"""A transaction that writes events, step by step, as PostgreSQL runs it.

              look   ┌────────┐ draw
             ┌──────▶│ SILENT │───────┐
             │       └────────┘       ▼
    IDLE ──▶ LOCKED ──▶ DRAWN ──▶ READY ──▶ VISIBLE ──▶ COMMITTED
      │  lock      draw      look   │  commit     unlock, and only then notify
      └─────────▶ savepoint ────────┤
                                    └──▶ the next insert, savepoint, roll back to it

An insert locks the table before the default draws the number. The transaction looks whether it must ring after that, or
the insert itself does before it draws, in which case it goes on only if it need not. One that is rolled back, which it
may be at every step, was never there; what it had locked is free, and its notifications are not sent.
"""

import dataclasses
import enum
from collections.abc import Iterator
from typing import NamedTuple


class At(enum.IntEnum):
    """Where a transaction is."""

    IDLE = 0
    LOCKED = 1
    DRAWN = 2
    SILENT = 3
    READY = 4
    VISIBLE = 5
    COMMITTED = 6
    ABORTED = 7


# A notification that tells of no event; others are the revision of theirs.
PLAIN = 0


class Saved(NamedTuple):
    """What rolling back to the savepoint restores."""

    length: int
    has_table: bool
    rings: tuple[int, ...]


class Writer(NamedTuple):
    """A transaction and what it holds."""

    at: At = At.IDLE
    inserts_left: int = 1
    revisions: tuple[int, ...] = ()
    has_table: bool = False
    rings: tuple[int, ...] = ()
    has_looked: bool = False
    saved: Saved | None = None
    may_save: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it runs and may still commit or roll back."""
        return At.IDLE < self.at < At.VISIBLE

    @property
    def is_ended(self) -> bool:
        """Whether it has released its locks."""
        return self.at >= At.COMMITTED

    @property
    def has_committed(self) -> bool:
        """Whether its rows are visible."""
        return self.at in (At.VISIBLE, At.COMMITTED)


ABORTED = Writer(At.ABORTED, 0)


class Move(NamedTuple):
    """One step of a transaction; `rings` are the notifications that it delivers."""

    label: str
    writer: Writer
    drawn: int
    rings: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Rule:
    """How transactions behave; anything but the defaults is a mistake that the exploration must find."""

    may_abort: bool = True
    may_be_long: bool = False
    draws_before_lock: bool = False
    remembers_ringing: bool = False
    looks_before_lock: bool = False


class Number(NamedTuple):
    """What the sequence would hand out to a transaction, and the last number that is taken then."""

    revision: int
    drawn: int


def moves(writer: Writer, rule: Rule, *, drawn: int, number: Number, is_wanted: bool) -> Iterator[Move]:
    """Yield each step that the transaction can take; `is_wanted` while writers must ring."""
    match writer.at:
        case At.IDLE | At.READY:
            yield from _between(writer, rule, drawn=drawn, number=number, is_wanted=is_wanted)
        case At.LOCKED if rule.draws_before_lock:
            yield Move("lock", writer._replace(at=At.DRAWN, has_table=True), drawn)
        case At.LOCKED if rule.looks_before_lock:
            yield _draw(writer._replace(has_table=True), At.READY, number)
        case At.LOCKED:
            yield _draw(writer, At.DRAWN, number)
            if not is_wanted:
                yield Move("be silent", writer._replace(at=At.SILENT), drawn)
        case At.SILENT:
            yield _draw(writer, At.READY, number)
        case At.DRAWN:
            yield from _look(writer, At.READY, rule, drawn=drawn, is_wanted=is_wanted)
        case At.VISIBLE:
            ended = Writer(At.COMMITTED, 0, writer.revisions)
            yield Move("unlock and notify" if writer.rings else "unlock", ended, drawn, writer.rings)
        case _:
            return
    if writer.is_open and rule.may_abort:
        yield Move("roll back", ABORTED, drawn)


def _between(writer: Writer, rule: Rule, *, drawn: int, number: Number, is_wanted: bool) -> Iterator[Move]:
    if writer.inserts_left:
        inserting = writer._replace(inserts_left=writer.inserts_left - 1)
        if rule.draws_before_lock:
            yield _draw(inserting, At.LOCKED, number)
        elif rule.looks_before_lock:
            yield from _look(inserting, At.LOCKED, rule, drawn=drawn, is_wanted=is_wanted)
        else:
            yield Move("lock", inserting._replace(at=At.LOCKED, has_table=True), drawn)
        if writer.may_save:
            saved = Saved(len(writer.revisions), writer.has_table, writer.rings)
            yield Move("savepoint", writer._replace(at=At.READY, saved=saved, may_save=False), drawn)
    if writer.saved is not None and len(writer.revisions) > writer.saved.length:
        yield Move("roll back to savepoint", _restored(writer, writer.saved), drawn)
    if writer.at is At.READY:
        yield Move("commit", writer._replace(at=At.VISIBLE, inserts_left=0, saved=None, may_save=False), drawn)


def _restored(writer: Writer, saved: Saved) -> Writer:
    return writer._replace(
        revisions=writer.revisions[: saved.length],
        has_table=saved.has_table,
        rings=saved.rings,
        saved=None,
    )


def _draw(writer: Writer, at: At, number: Number) -> Move:
    return Move("draw", writer._replace(at=at, revisions=(*writer.revisions, number.revision)), number.drawn)


def _look(writer: Writer, at: At, rule: Rule, *, drawn: int, is_wanted: bool) -> Iterator[Move]:
    ready = writer._replace(at=at, has_looked=rule.remembers_ringing)
    if writer.has_looked:
        yield Move("look no more", ready, drawn)
    elif not is_wanted:
        yield Move("be silent", ready, drawn)
    elif rule.looks_before_lock:
        yield Move("ring", ready._replace(rings=(PLAIN,)), drawn)
    else:
        yield Move("ring and tell", ready._replace(rings=(*writer.rings, writer.revisions[-1])), drawn)
        if rule.may_be_long:
            # What is sent twice in one transaction comes once.
            rings = writer.rings if PLAIN in writer.rings else (*writer.rings, PLAIN)
            yield Move("ring", ready._replace(rings=rings), drawn)
