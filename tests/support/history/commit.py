"""Whether the log holds what was committed: all of it, nothing else, and each resource's changes in their order."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from support.history.log import Log
from support.history.record import Change, Outcome, Row, Transaction, Violation

# Events that do not stand for a new version of their resource.
_UNCOUNTED = frozenset({"CUSTOM", "HARDWARE_PHONE_HOME"})
_SHOWN = 6


def check(log: Log, transactions: Sequence[Transaction]) -> Iterator[Violation]:
    """Yield what is wrong."""
    yield from _check_order(log)
    yield from _check_versions(log)
    events: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in log.rows:
        events[row.token, row.event_type].append(row)
    accounted: set[tuple[str, str]] = set()
    for transaction in transactions:
        accounted.update((change.token, change.event_type) for change in transaction.changes)
        yield from _check_transaction(transaction, events)
    for key in events.keys() - accounted:
        yield Violation("W2", "log", f"nobody has written {_show(events[key][0])}")


def _check_order(log: Log) -> Iterator[Violation]:
    for before, after in zip(log.rows, log.rows[1:], strict=False):
        if before.revision >= after.revision:
            yield Violation("W1", "log", f"{_show(after)} follows {_show(before)}")


def _check_versions(log: Log) -> Iterator[Violation]:
    versions: dict[str, Row] = {}
    for row in log.rows:
        if row.event_type in _UNCOUNTED:
            continue
        before = versions.get(row.resource_id)
        if before is not None and row.version != before.version + 1:
            yield Violation("W1", "log", f"{_show(row)} follows {_show(before)}: not the order of the commits")
        versions[row.resource_id] = row


def _check_transaction(transaction: Transaction, events: dict[tuple[str, str], list[Row]]) -> Iterator[Violation]:
    found = {change: events.get((change.token, change.event_type), []) for change in transaction.changes}
    for change, rows in found.items():
        if len(rows) > 1:
            yield _violation("W3", transaction, f"{_name(change)} is in the log as {' and '.join(map(_show, rows))}")
        elif rows:
            yield from _check_event(transaction, change, rows[0])
    missing = [change for change, rows in found.items() if not rows]
    present = [rows[0] for rows in found.values() if rows]
    if transaction.outcome is Outcome.ROLLED_BACK and present:
        yield _violation("W2", transaction, f"was rolled back, but the log holds {_some(map(_show, present))}")
    elif missing and (present or transaction.outcome is Outcome.COMMITTED):
        kept = f", but {_some(map(_show, present))}" if present else ""
        yield _violation("W2", transaction, f"the log does not hold {_some(map(_name, missing))}{kept}")


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


def _some(texts: Iterator[str]) -> str:
    shown = list(texts)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return "; ".join(shown[:_SHOWN]) + more
