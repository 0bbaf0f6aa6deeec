"""Whether one stream kept its promises: where it began, what it delivered, what its bookmarks said, how it ended."""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence

from support.history.log import Log
from support.history.record import LEFT, OPEN, Era, FromRevision, Selection, Since, Stream, Violation

_AROUND = 4
# Two sessions that write at the same time may draw their revisions and look at the clock in different orders.
_CLOCK_SECONDS = 2.0
# What the server may end a stream with at any time; a watcher then resumes.
_UNAVAILABLE = "UNAVAILABLE"
# What gRPC says of a call that came in while the server was stopping, and that nobody began to handle.
_NEVER_BEGUN = "CANCELLED"
_TOO_SLOW = "RESOURCE_EXHAUSTED", "TOO_SLOW"
_COMPACTED = "OUT_OF_RANGE", "COMPACTED"
_OTHER_HISTORY = "OUT_OF_RANGE", "OTHER_HISTORY"


def check(
    log: Log, selection: Selection, stream: Stream, *, who: str, history_id: str, oldest: int
) -> Iterator[Violation]:
    """Yield what is wrong with what the stream of this history delivered."""
    if stream.is_live:
        yield from _check_form(stream, who, history_id)
        yield from _check_start(log, stream, who, oldest)
        yield from _check_delivery(log, selection, stream, who)


def _check_form(stream: Stream, who: str, history_id: str) -> Iterator[Violation]:
    first, last, _ = next(stream.responses())
    if stream.created != [0] or first != last:
        yield Violation("W7", who, f"the first response must be `created` and hold nothing, not {stream.created}")
    if stream.histories != [history_id]:
        yield Violation("W5", who, f"responses of history {stream.histories}, but the log is {history_id}")


def _check_start(log: Log, stream: Stream, who: str, oldest: int) -> Iterator[Violation]:
    latest = log.latest_before(stream.position)
    if isinstance(stream.start, FromRevision):
        if stream.position != stream.start.revision:
            yield Violation("W5", who, f"asked for revision {stream.start.revision}, began with {stream.position}")
    elif latest > stream.live_at:
        late = latest - stream.live_at
        yield Violation("W2", who, f"began with {stream.position}, above an event drawn {late:.3f} s after it was live")
    # What is forgotten is not asked for.
    is_kept = stream.position > oldest
    if isinstance(stream.start, Since) and is_kept and latest > stream.live_at - stream.start.seconds + _CLOCK_SECONDS:
        age = stream.live_at - latest
        yield Violation(
            "W2", who, f"asked for {stream.start.seconds} s, began with {stream.position}, above one {age:.3f} s old"
        )


def _check_delivery(log: Log, selection: Selection, stream: Stream, who: str) -> Iterator[Violation]:
    due, got = log.due(selection), stream.revisions
    cursor = bisect.bisect_left(due, stream.position)
    bookmark = stream.position - 1
    for first, last, mark in stream.responses():
        for index in range(first, last):
            if cursor == len(due) or got[index] != due[cursor]:
                yield _explain(log, selection, stream, who, index=index, cursor=cursor)
                return  # from here on everything would look wrong
            cursor += 1
        if mark < bookmark or (last > first and mark < got[last - 1]):
            text = f"bookmark {mark} after bookmark {bookmark}"
            yield Violation("W4", who, f"{text}: {_excerpt(log, selection, stream, last, cursor)}")
            return
        if cursor < len(due) and due[cursor] <= mark:
            text = f"bookmark {mark}, but revision {due[cursor]} had not been delivered"
            yield Violation("W4", who, f"{text}: {_excerpt(log, selection, stream, last, cursor)}")
            return
        bookmark = mark
    for revision, digest in zip(got, stream.digests, strict=True):
        row = log.get(revision)
        if row is not None and row.digest != digest:
            yield Violation("W2", who, f"revision {revision} is another event than the one in the log")


def _explain(log: Log, selection: Selection, stream: Stream, who: str, *, index: int, cursor: int) -> Violation:
    """Say which promise the first event breaks that is not the one that was due."""
    got, due = stream.revisions, log.due(selection)
    revision = got[index]
    row = log.get(revision)
    rule = "W2"
    if revision in got[:index]:
        rule, text = "W3", f"revision {revision} came again"
    elif row is None:
        text = f"revision {revision} was never committed"
    elif not selection.matches(row):
        text = f"revision {revision} was not selected"
    elif revision < stream.position:
        rule, text = "W5", f"revision {revision} lies before the start {stream.position}"
    elif due[cursor] in got[index:]:
        rule, text = "W1", f"revision {revision} came before {due[cursor]}"
    else:
        missing = list(itertools.takewhile(lambda number: number < revision, due[cursor:]))
        text = f"revision {revision} came, but never {_numbers(missing)}"
    return Violation(rule, who, f"{text}: {_excerpt(log, selection, stream, index, cursor)}")


def _excerpt(log: Log, selection: Selection, stream: Stream, index: int, cursor: int) -> str:
    due = log.due(selection)
    received = stream.revisions[max(0, index - _AROUND) : index + _AROUND]
    expected = due[max(0, cursor - _AROUND) : cursor + _AROUND]
    return f"received … {_numbers(received)} …, due … {_numbers(expected)} … (began with {stream.position})"


def _numbers(numbers: Iterable[int]) -> str:
    shown = [str(number) for number in numbers]
    more = f" and {len(shown) - 2 * _AROUND} more" if len(shown) > 2 * _AROUND else ""
    return ", ".join(shown[: 2 * _AROUND]) + more


def check_end(stream: Stream, who: str, eras: Sequence[Era], number: int | None) -> Iterator[Violation]:
    """Yield what is wrong with the end of a stream of a watcher in the log of that number; None if it got into none."""
    how = stream.end, stream.reason
    if stream.end in (OPEN, LEFT, _UNAVAILABLE) or how == _TOO_SLOW:
        return
    if stream.end == _NEVER_BEGUN and not stream.is_live:
        return
    if how == _OTHER_HISTORY:
        if not _has_changed(stream.ended_at, eras, number or 0):
            yield Violation("W5", who, "was told of another history, but there was none")
        return
    if how != _COMPACTED:
        yield Violation("W9", who, f"ended with {stream.end} ({stream.reason})")
        return
    oldest = eras[number].oldest if number is not None else max(era.oldest for era in eras)
    needed = stream.reached + 1
    if not stream.is_live and isinstance(stream.start, FromRevision):
        needed = stream.start.revision
    if needed >= oldest:
        yield Violation("W5", who, f"was told that {needed} is no longer kept, but {oldest} is the oldest")


def _has_changed(moment: float, eras: Sequence[Era], number: int) -> bool:
    """Whether by then the log of that number had begun to make room for another, or still came back in pieces."""
    if eras[number].is_piecemeal and moment <= eras[number].whole_at:
        return True
    return any(era.begun_at <= moment for era in eras[number + 1 :])
