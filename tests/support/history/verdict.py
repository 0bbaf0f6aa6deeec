"""The contract of the event log as a judgement over a recorded run.

What a promise means for records, by its number in the contract:

W1   rows and streams are in strictly increasing order, and so are the versions of each resource in the log
W2   the log holds every change of a committed transaction, none of another one; a stream delivers all that it selects
W3   nothing comes twice in a stream; the client library hands everything out once, over any number of streams
W4   no selected event at or below a bookmark comes after it, or never
W5   a stream begins where it was asked to, a resumed one leaves nothing out, and only what is gone is refused
W6   whoever is slow skips nothing, and arrives at the end like everybody else unless it was told otherwise
W7   the first response is `created`
W9   streams end with a status that says to resume
"""

import bisect
from collections.abc import Iterator

from support.history import commit, delivery
from support.history.log import Log
from support.history.record import OPEN, FromRevision, History, Violation, Watcher


def judge(history: History) -> list[Violation]:
    """Return every violation of the contract in a run."""
    log = Log(history.rows)
    return [*commit.check(log, history.transactions), *_check_watchers(log, history)]


def judge_watchers(history: History) -> list[Violation]:
    """Return what was wrong with what watchers received, whoever wrote what is in the log."""
    return _check_watchers(Log(history.rows), history)


def _check_watchers(log: Log, history: History) -> list[Violation]:
    found: list[Violation] = []
    for watcher in history.watchers:
        for number, stream in enumerate(watcher.streams):
            found += delivery.check(
                log,
                watcher.selection,
                stream,
                who=f"{watcher.name}[{number}]",
                history_id=history.history_id,
                oldest=history.oldest,
            )
        found += _check_chain(watcher, history.history_id)
        found += _check_handed(log, watcher)
        found += _check_arrival(log, watcher)
    return found


def _check_chain(watcher: Watcher, history_id: str) -> Iterator[Violation]:
    """A resumed stream may repeat what an earlier one delivered, but leave nothing out."""
    reached: int | None = None
    for number, stream in enumerate(watcher.streams):
        who = f"{watcher.name}[{number}]"
        if reached is not None:
            if not isinstance(stream.start, FromRevision) or stream.start.revision > reached + 1:
                yield Violation("W5", who, f"resumed with {stream.start} after revision {reached}")
            elif stream.start.history_id not in ("", history_id):
                yield Violation("W5", who, f"resumed in history {stream.start.history_id}, not {history_id}")
        if stream.is_live:
            reached = max(stream.reached, reached or 0)


def _check_handed(log: Log, watcher: Watcher) -> Iterator[Violation]:
    first = next((stream.position for stream in watcher.streams if stream.is_live), None)
    if watcher.handed is None or first is None:
        return
    due = log.due(watcher.selection)
    expected = due[bisect.bisect_left(due, first) : bisect.bisect_right(due, watcher.handed_up_to)]
    for index, revision in enumerate(watcher.handed):
        if index == len(expected) or expected[index] != revision:
            wanted = expected[index] if index < len(expected) else "nothing"
            yield Violation("W3", watcher.name, f"the client library handed out {revision} where {wanted} was due")
            return
    if len(watcher.handed) < len(expected):
        missing = expected[len(watcher.handed)]
        yield Violation("W3", watcher.name, f"the client library is at {watcher.handed_up_to}, but kept {missing}")


def _check_arrival(log: Log, watcher: Watcher) -> Iterator[Violation]:
    if not watcher.must_arrive:
        return
    last = watcher.streams[-1] if watcher.streams else None
    if last is None or last.end != OPEN or last.bookmark < log.last:
        state = "never began" if last is None else f"is at {last.bookmark}, its stream {last.end or 'open'}"
        yield Violation("W6", watcher.name, f"{state}, but the log ends with {log.last}")
    elif watcher.handed is not None and watcher.handed_up_to < log.last:
        yield Violation("W6", watcher.name, f"was handed out {watcher.handed_up_to}, but the log ends with {log.last}")
