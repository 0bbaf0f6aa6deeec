"""The contract of the event log as a judgement over a recorded run.

What a promise means for records, by its number in the contract:

W1   rows and streams are in strictly increasing order, and so are the versions of each resource in the log
W2   the log holds every change of a committed transaction, none of another one; a stream delivers all that it selects
W3   nothing comes twice in a stream; the client library hands everything out once, over any number of streams
W4   no selected event at or below a bookmark comes after it, or never
W5   a stream begins where it was asked to, a resumed one leaves nothing out, and only what is gone is refused; a log
     that another one takes the place of has another history, and whoever watches is told so
W6   whoever is slow skips nothing, and arrives at the end like everybody else unless it was told otherwise
W7   the first response is `created`
W9   streams end with a status that says to resume

Where a standby takes over, or a dump is restored, the last commits of the former log may be lost. So each log is judged
for itself, by the watchers that were in its history, and then what became of the commits from one log to the next: an
event is kept as it is or lost for good, with its whole transaction, and never while a later one is kept.
"""

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence

from support.history import commit, delivery
from support.history.log import Log
from support.history.record import OPEN, Era, FromRevision, History, Violation, Watcher


def judge(history: History) -> list[Violation]:
    """Return every violation of the contract in a run."""
    return [
        *_check_names(history.eras),
        *commit.check(history.eras, history.transactions),
        *judge_watchers(history),
    ]


def judge_watchers(history: History) -> list[Violation]:
    """Return what was wrong with what watchers received, whoever wrote what is in the log."""
    found: list[Violation] = []
    watchers: defaultdict[int | None, list[Watcher]] = defaultdict(list)
    for watcher in history.watchers:
        watchers[_number(watcher, history.eras)].append(watcher)
    # One log at a time: each is as long as the run.
    for number, of_one in watchers.items():
        log = Log(history.eras[-1 if number is None else number].rows)
        for watcher in of_one:
            found += _check_watcher(log, watcher, history.eras, number)
    return found


def _check_names(eras: Sequence[Era]) -> Iterator[Violation]:
    seen: dict[str, int] = {}
    for number, era in enumerate(eras):
        if era.history_id in seen:
            text = f"log {number + 1} took the place of log {seen[era.history_id] + 1}, but its history is the same"
            yield Violation("W5", "log", f"{text}: {era.history_id}")
        seen[era.history_id] = number


def _number(watcher: Watcher, eras: Sequence[Era]) -> int | None:
    """Return which of the logs the watcher was in; None when it was in none, the last one for an unknown history."""
    first = next((stream for stream in watcher.streams if stream.is_live), None)
    if first is None:
        return None
    for number, era in enumerate(eras):
        if era.history_id == first.histories[0]:
            return number
    for number, era in enumerate(eras):
        if era.is_piecemeal and era.begun_at <= first.live_at <= era.whole_at:
            return number
    return len(eras) - 1


def _check_watcher(log: Log, watcher: Watcher, eras: Sequence[Era], number: int | None) -> Iterator[Violation]:
    era = eras[-1 if number is None else number]
    history_id = era.history_id
    live = [stream for stream in watcher.streams if stream.is_live]
    if live and era.is_piecemeal and live[0].live_at <= era.whole_at:
        history_id = live[0].histories[0]
    for index, stream in enumerate(watcher.streams):
        who = f"{watcher.name}[{index}]"
        yield from delivery.check(log, watcher.selection, stream, who=who, history_id=history_id, oldest=era.oldest)
        yield from delivery.check_end(stream, who, eras, number)
    yield from _check_chain(watcher, history_id)
    yield from _check_handed(log, watcher)
    if watcher.must_arrive and history_id != eras[-1].history_id:
        yield Violation("W6", watcher.name, f"is in history {history_id}, but the log is {eras[-1].history_id}")
    else:
        yield from _check_arrival(log, watcher)


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
