"""The judge of recorded runs acquits a good one, and convicts each kind of broken promise by its name."""

import dataclasses
from array import array
from collections.abc import Callable, Sequence

import pytest

from support.history import verdict
from support.history.record import (
    LEFT,
    Change,
    Era,
    FromRevision,
    History,
    Now,
    Outcome,
    Row,
    Selection,
    Since,
    Start,
    Stream,
    Transaction,
    Violation,
    Watcher,
)

HISTORY = "h"
ALL = Selection()
FROM_THE_FIRST = FromRevision(1)
HARDWARE = Selection(resource_types=frozenset({"HARDWARE"}))
REVISIONS = (1, 2, 4, 5, 7, 8)  # 3 and 6 were rolled back; the even ones are about templates


def row(revision: int) -> Row:
    kind = "HARDWARE" if revision % 2 else "TEMPLATE"
    return Row(
        revision=revision,
        digest=revision * 100,
        resource_type=kind,
        resource_id=f"{kind}-1",
        parent_id="",
        event_type="UPDATED",
        name=f"{kind.lower()}.updated",
        version=sum(other <= revision and other % 2 == revision % 2 for other in REVISIONS),
        token=f"t{revision}",
        created_at=1_000.0 + revision,
    )


def change(number: int, **learned: int) -> Change:
    return Change(f"t{number}", "UPDATED", row(number).resource_id, **learned)


def transaction(*revisions: int, outcome: Outcome = Outcome.COMMITTED) -> Transaction:
    return Transaction("w", outcome, [change(revision) for revision in revisions])


def stream(
    *batches: tuple[Sequence[int], int], start: Start = FROM_THE_FIRST, position: int = 1, live_at: float = 1_000.0
) -> Stream:
    """Make a stream: a first response, then for each batch its events and its bookmark."""
    made = Stream(start)
    made.add([], bookmark=position - 1, history_id=HISTORY, created=True, at=live_at)
    for revisions, bookmark in batches:
        made.add([(number, number * 100) for number in revisions], bookmark=bookmark, history_id=HISTORY)
    return made


def everything(**more: object) -> Stream:
    made = stream((REVISIONS, 8))
    for name, value in more.items():
        setattr(made, name, value)
    return made


def never_begun() -> Stream:
    made = Stream(Now())
    made.end = "CANCELLED"
    return made


def watcher(*streams: Stream, selection: Selection = ALL, **more: object) -> Watcher:
    made = Watcher("watcher", selection, list(streams))
    for name, value in more.items():
        setattr(made, name, value)
    return made


def judge(
    *watchers: Watcher,
    transactions: Sequence[Transaction] | None = None,
    rows: Sequence[Row] | None = None,
    oldest: int = 1,
) -> list[Violation]:
    era = Era(HISTORY, [row(revision) for revision in REVISIONS] if rows is None else rows, oldest)
    written = [transaction(revision) for revision in REVISIONS] if transactions is None else transactions
    return verdict.judge(History([era], written, watchers))


def rules(violations: Sequence[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


@pytest.mark.parametrize(
    "good",
    [
        watcher(everything()),
        watcher(stream(([1, 2], 2), ([], 3), ([4, 5, 7], 7), ([8], 8))),
        watcher(stream(([1], 4), ([5, 7], 8)), selection=HARDWARE),
        watcher(stream(([8], 8), start=Now(), position=8, live_at=1_007.5)),
        watcher(stream(([5, 7, 8], 8), start=Since(5.0), position=5, live_at=1_009.5)),
        watcher(stream(([1, 2], 3)), stream(([4, 5, 7, 8], 8), start=FromRevision(4, HISTORY), position=4)),
        watcher(stream(([1, 2, 4], 4)), stream(([2, 4, 5, 7, 8], 8), start=FromRevision(2), position=2)),
        watcher(everything(end=LEFT), must_arrive=False),
        watcher(everything(end="UNAVAILABLE", reason="UNAVAILABLE"), must_arrive=False),
        watcher(everything(end="RESOURCE_EXHAUSTED", reason="TOO_SLOW"), must_arrive=False),
        watcher(Stream(Now()), must_arrive=False),
        watcher(never_begun(), must_arrive=False),
        watcher(everything(), handed=array("q", REVISIONS), handed_up_to=8),
    ],
)
def test_a_watcher_that_was_told_the_truth_is_content(good: Watcher) -> None:
    assert judge(good) == []


def test_a_revision_may_be_refused_only_when_it_is_forgotten() -> None:
    refused = Stream(FromRevision(2, HISTORY))
    refused.end, refused.reason = "OUT_OF_RANGE", "COMPACTED"
    assert judge(watcher(refused, must_arrive=False), oldest=4) == []
    assert rules(judge(watcher(refused, must_arrive=False), oldest=2)) == {"W5"}
    cut = stream(([1, 2], 3))
    cut.end, cut.reason = "OUT_OF_RANGE", "COMPACTED"
    assert judge(watcher(cut, must_arrive=False), oldest=5) == []
    assert rules(judge(watcher(cut, must_arrive=False), oldest=4)) == {"W5"}


def test_whoever_asks_for_the_last_seconds_may_begin_with_the_oldest_event_that_is_kept() -> None:
    late = watcher(stream(([8], 8), start=Since(60), position=8, live_at=1_013.0))
    assert judge(late, oldest=8) == []
    assert rules(judge(late, oldest=7)) == {"W2"}


def with_another_digest(made: Stream) -> Stream:
    made.digests[2] += 1
    return made


def with_second_created(made: Stream) -> Stream:
    made.add([], bookmark=8, history_id=HISTORY, created=True)
    return made


def with_other_history(made: Stream) -> Stream:
    made.add([], bookmark=8, history_id="other")
    return made


@pytest.mark.parametrize(
    ("rule", "said", "bad"),
    [
        ("W1", "4 came before 2", lambda: stream(([1, 4, 2, 5, 7, 8], 8))),
        ("W2", "never 4", lambda: stream(([1, 2, 5, 7, 8], 8))),
        ("W2", "3 was never committed", lambda: stream(([1, 2, 3, 4, 5, 7, 8], 8))),
        ("W2", "another event", lambda: with_another_digest(everything())),
        ("W2", "drawn 0.500 s after", lambda: stream(([8], 8), start=Now(), position=8, live_at=1_006.5)),
        ("W2", "above one 6.000 s old", lambda: stream(([8], 8), start=Since(60), position=8, live_at=1_013.0)),
        ("W3", "2 came again", lambda: stream(([1, 2], 2), ([2, 4, 5, 7, 8], 8))),
        ("W4", "4 had not been delivered", lambda: stream(([1, 2], 4), ([5, 7, 8], 8))),
        ("W4", "4 had not been delivered", lambda: stream(([1, 2], 4), ([4, 5, 7, 8], 8))),
        ("W4", "bookmark 3 after bookmark 4", lambda: stream(([1, 2, 4], 4), ([], 3), ([5, 7, 8], 8))),
        ("W4", "bookmark 7 after", lambda: stream((REVISIONS, 7), ([], 8))),
        ("W5", "1 lies before the start 2", lambda: stream((REVISIONS, 8), start=FromRevision(2), position=2)),
        ("W5", "asked for revision 2", lambda: stream(([4, 5, 7, 8], 8), start=FromRevision(2), position=4)),
        ("W5", "'other'", lambda: with_other_history(everything())),
        ("W6", "is at 7", lambda: stream(([1, 2, 4, 5, 7], 7))),
        ("W7", "`created`", lambda: with_second_created(everything())),
        ("W9", "INTERNAL", lambda: everything(end="INTERNAL")),
        ("W9", "CANCELLED", lambda: everything(end="CANCELLED")),
        ("W5", "there was none", lambda: everything(end="OUT_OF_RANGE", reason="OTHER_HISTORY")),
        ("W9", "LIMIT_REACHED", lambda: everything(end="RESOURCE_EXHAUSTED", reason="LIMIT_REACHED")),
    ],
)
def test_a_broken_stream_is_told_by_the_promise_it_breaks(rule: str, said: str, bad: Callable[[], Stream]) -> None:
    found = judge(watcher(bad()))
    assert rule in rules(found)
    assert any(said in violation.text for violation in found if violation.rule == rule), found


def test_an_event_that_was_not_selected_is_told() -> None:
    (found,) = judge(watcher(stream(([1, 2, 5, 7], 8)), selection=HARDWARE))
    assert (found.rule, "2 was not selected" in found.text) == ("W2", True)


def test_a_watcher_that_resumes_too_late_has_left_something_out() -> None:
    resumed = stream(([5, 7, 8], 8), start=FromRevision(5, HISTORY), position=5)
    assert rules(judge(watcher(stream(([1, 2], 3)), resumed))) == {"W5"}
    again = stream(([8], 8), start=Now(), position=8, live_at=1_007.5)
    assert rules(judge(watcher(stream(([1, 2], 3)), again))) == {"W5"}
    elsewhere = stream(([4, 5, 7, 8], 8), start=FromRevision(4, "other"), position=4)
    assert rules(judge(watcher(stream(([1, 2], 3)), elsewhere))) == {"W5"}


def test_a_watcher_that_never_began_has_not_arrived() -> None:
    assert rules(judge(watcher())) == {"W6"}


@pytest.mark.parametrize(
    ("handed", "up_to", "rule"),
    [
        ((1, 2, 5, 7, 8), 8, "W3"),
        ((1, 2, 2, 4, 5, 7, 8), 8, "W3"),
        ((2, 1, 4, 5, 7, 8), 8, "W3"),
        ((1, 2, 4, 5, 7), 8, "W3"),
        ((1, 2, 4, 5, 7), 7, "W6"),
    ],
)
def test_the_client_library_hands_everything_out_once_and_in_order(
    handed: tuple[int, ...], up_to: int, rule: str
) -> None:
    assert rules(judge(watcher(everything(), handed=array("q", handed), handed_up_to=up_to))) == {rule}


@pytest.mark.parametrize(
    ("rule", "said", "transactions"),
    [
        ("W2", "does not hold t9", [transaction(1, 2, 4), transaction(5, 7, 8, 9)]),
        ("W2", "does not hold t9", [transaction(1, 2, 4, 5, 7, 8), transaction(9)]),
        ("W2", "does not hold t9", [transaction(1, 2, 4, 5, 7), transaction(8, 9, outcome=Outcome.UNKNOWN)]),
        ("W2", "was rolled back", [transaction(1, 2, 4, 5, 7), transaction(8, outcome=Outcome.ROLLED_BACK)]),
        ("W2", "nobody has written", [transaction(1, 2, 4, 5, 7)]),
    ],
)
def test_the_log_holds_what_was_committed_and_nothing_else(
    rule: str, said: str, transactions: Sequence[Transaction]
) -> None:
    (found,) = judge(transactions=transactions)
    assert (found.rule, said in found.text) == (rule, True), found


def test_a_transaction_whose_end_is_unknown_may_be_there_or_not() -> None:
    unknown = [transaction(8, outcome=Outcome.UNKNOWN), transaction(9, 10, outcome=Outcome.UNKNOWN)]
    assert judge(transactions=[transaction(1, 2, 4, 5, 7), *unknown]) == []


def test_an_event_keeps_its_revision_and_its_version() -> None:
    others = [transaction(1, 2, 4, 5, 7)]
    for wrong in (change(8, revision=9), change(8, version=9)):
        assert rules(judge(transactions=[*others, Transaction("w", Outcome.COMMITTED, [wrong])])) == {"W1"}
    right = change(8, revision=8, version=row(8).version)
    assert judge(transactions=[*others, Transaction("w", Outcome.COMMITTED, [right])]) == []


def test_an_event_that_is_in_the_log_twice_is_told() -> None:
    twice = [*map(row, REVISIONS), dataclasses.replace(row(8), revision=9, version=row(8).version + 1)]
    (found,) = judge(rows=twice)
    assert found.rule == "W3"


def test_the_versions_of_a_resource_follow_the_log() -> None:
    swapped = [
        dataclasses.replace(row(number), version=row({4: 8, 8: 4}.get(number, number)).version) for number in REVISIONS
    ]
    assert rules(judge(rows=swapped)) == {"W1"}


def test_only_what_was_deleted_may_begin_anew_with_its_first_version() -> None:
    def follow(kind: str, version: int) -> list[Violation]:
        last = dataclasses.replace(row(8), event_type=kind)
        anew = dataclasses.replace(row(8), revision=9, token="t9", version=version)
        written = [*map(transaction, REVISIONS[:-1]), Transaction("w", Outcome.COMMITTED, [Change("t8", kind)])]
        written.append(Transaction("w", Outcome.COMMITTED, [Change("t9", "UPDATED")]))
        return judge(rows=[*map(row, REVISIONS[:-1]), last, anew], transactions=written)

    assert follow("DELETED", 1) == []
    assert rules(follow("DELETED", 2)) == {"W1"}
    assert rules(follow("CUSTOM_ONE", 1)) == {"W1"}
