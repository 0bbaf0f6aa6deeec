"""Whether the logs hold what was committed: all of it, nothing else, and each resource's changes in their order.

What a later log lacks of a former one is lost by contract only if it was committed last, and then for good.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from support.history.record import Change, Era, Outcome, Row, Transaction, Violation

# Events that do not stand for a new version of their resource.
_UNCOUNTED = frozenset({"CUSTOM", "HARDWARE_PHONE_HOME"})
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class _Life:
    """An event, and the first and the last of the logs that it is in."""

    row: Row
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A transaction, and the first and the last of the logs that it is in."""

    transaction: Transaction
    first: int
    last: int


def check(eras: Sequence[Era], transactions: Sequence[Transaction]) -> Iterator[Violation]:
    """Yield what is wrong."""
    for era in eras:
        yield from _check_order(era.rows)
        yield from _check_versions(era.rows)
    events: defaultdict[tuple[str, str], list[_Life]] = defaultdict(list)
    for life in _lives(eras):
        events[life.row.token, life.row.event_type].append(life)
    kept: list[_Kept] = []
    for transaction in transactions:
        found = {
            change: _tries(events.get((change.token, change.event_type), []), transaction, eras)
            for change in transaction.changes
        }
        yield from _check_transaction(transaction, found)
        present = [lives[0] for lives in found.values() if lives]
        if present:
            kept.append(_Kept(transaction, present[0].first, present[0].last))
    yield from _check_losses(eras, kept)
    for transaction in transactions:
        for change in transaction.changes:
            events.pop((change.token, change.event_type), None)
    for lives in events.values():
        yield Violation("W2", "log", f"nobody has written {_show(lives[0].row)}")


def _lives(eras: Sequence[Era]) -> Iterator[_Life]:
    """Yield each event as often as it appears: once, if no log has it again after one that lacks it."""
    living: dict[int, tuple[Row, int]] = {}
    for number, era in enumerate(eras):
        before, living = living, {}
        for row in era.rows:
            known = before.get(row.revision)
            if known is not None and (known[0] is row or known[0] == row):
                living[row.revision] = known
                del before[row.revision]
            else:
                living[row.revision] = row, number
        for row, first in before.values():
            yield _Life(row, first, number - 1)
    for row, first in living.values():
        yield _Life(row, first, len(eras) - 1)


def _tries(lives: list[_Life], transaction: Transaction, eras: Sequence[Era]) -> list[_Life]:
    """Leave out what a log lost while its writer waited for the answer, if that has tried again since."""
    return [
        life
        for life in lives
        if not any(
            life.last < other.first
            and life.row.revision < other.row.revision
            and eras[life.last + 1].begun_at <= transaction.ended
            for other in lives
        )
    ]


def _check_order(rows: Sequence[Row]) -> Iterator[Violation]:
    for before, after in itertools.pairwise(rows):
        if before.revision >= after.revision:
            yield Violation("W1", "log", f"{_show(after)} follows {_show(before)}")


def _check_versions(rows: Sequence[Row]) -> Iterator[Violation]:
    versions: dict[str, Row] = {}
    for row in rows:
        if row.event_type in _UNCOUNTED:
            continue
        before = versions.get(row.resource_id)
        # What was deleted, and then forgotten, may be made anew.
        is_new = row.version == 1 and before is not None and before.event_type == "DELETED"
        if before is not None and not is_new and row.version != before.version + 1:
            yield Violation("W1", "log", f"{_show(row)} follows {_show(before)}: not the order of the commits")
        versions[row.resource_id] = row


def _check_transaction(transaction: Transaction, found: dict[Change, list[_Life]]) -> Iterator[Violation]:
    for change, lives in found.items():
        if len(lives) > 1:
            told = " and ".join(_show(life.row) for life in lives)
            yield _violation("W3", transaction, f"{_name(change)} is in the log as {told}")
        elif lives:
            yield from _check_event(transaction, change, lives[0].row)
    missing = [change for change, lives in found.items() if not lives]
    present = [lives[0] for lives in found.values() if lives]
    shown = _some([_show(life.row) for life in present])
    if transaction.outcome is Outcome.ROLLED_BACK and present:
        yield _violation("W2", transaction, f"was rolled back, but the log holds {shown}")
    elif missing and (present or transaction.outcome is Outcome.COMMITTED):
        kept = f", but {shown}" if present else ""
        yield _violation("W2", transaction, f"the log does not hold {_some([*map(_name, missing)])}{kept}")
    elif len({(life.first, life.last) for life in present}) > 1:
        yield _violation("W2", transaction, f"was lost in part: not all logs that hold one hold all of {shown}")


def _check_losses(eras: Sequence[Era], kept: Sequence[_Kept]) -> Iterator[Violation]:
    """Each log begins with what the former one held up to some moment, and what was committed later is lost."""
    for number, era in enumerate(eras):
        later = [one.transaction.began for one in kept if one.first < number <= one.last]
        held = max(era.holds_until, *later) if later else era.holds_until
        for one in kept:
            # Of the others nobody knows when they had been committed.
            if one.last == number - 1 and one.transaction.outcome is Outcome.COMMITTED and one.transaction.ended < held:
                late = held - one.transaction.ended
                text = f"log {number + 1} lacks {_name(one.transaction.changes[0])}, though it holds what was committed"
                yield _violation("W2", one.transaction, f"{text} {late:.3f} s later")


def _check_event(transaction: Transaction, change: Change, row: Row) -> Iterator[Violation]:
    if change.revision and change.revision != row.revision:
        yield _violation("W1", transaction, f"{_name(change)} was read as {change.revision}, {_show(row)}")
    if (change.version and change.version != row.version) or (
        change.resource_id and change.resource_id != row.resource_id
    ):
        yield _violation("W1", transaction, f"{_name(change)} made version {change.version}, but {_show(row)}")


def _violation(rule: str, transaction: Transaction, text: str) -> Violation:
    return Violation(rule, f"writer {transaction.writer} ({transaction.outcome.value})", text)


def _name(change: Change) -> str:
    return f"{change.token} {change.event_type} of {change.resource_id or 'nothing'}"


def _show(row: Row) -> str:
    return f"revision {row.revision} is {row.token} {row.event_type} of {row.resource_id or 'nothing'} v{row.version}"


def _some(shown: Sequence[str]) -> str:
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return "; ".join(shown[:_SHOWN]) + more
