"""The judge of runs in which a standby takes over or a dump is restored: what may be lost, and what must be told."""

import dataclasses
from collections.abc import Sequence

import pytest

from support.history import verdict
from support.history.record import (
    Change,
    Era,
    FromRevision,
    History,
    Now,
    Outcome,
    Row,
    Selection,
    Stream,
    Transaction,
    Violation,
    Watcher,
)

OLD, NEW, PASSING = "old", "new", "passing"
# The second log begins when the first one is taken away, and is there a second later.
BEGUN_AT, WHOLE_AT = 100.0, 101.0


def row(revision: int, token: str = "") -> Row:
    """Make an event, drawn at that second of the run."""
    return Row(
        revision=revision,
        digest=hash((revision, token)) >> 2,
        resource_type="TEMPLATE",
        resource_id=f"of {token or revision}",
        parent_id="",
        event_type="CREATED",
        name="template.created",
        version=1,
        token=token or f"t{revision}",
        created_at=float(revision),
    )


COMMON = [row(revision) for revision in (1, 2, 3, 5)]
LOST = [row(6), row(7)]
# The same numbers are drawn again.
AFTER = [dataclasses.replace(row(revision, f"n{revision}"), created_at=BEGUN_AT + revision) for revision in (6, 7, 8)]
FORMER = Era(OLD, [*COMMON, *LOST])
LATTER = Era(NEW, [*COMMON, *AFTER], begun_at=BEGUN_AT, whole_at=WHOLE_AT)


def transaction(*rows: Row, outcome: Outcome = Outcome.COMMITTED, took: float = 0.4) -> Transaction:
    """Make one that its writer knew to be committed shortly after its last event was drawn."""
    last = rows[-1].created_at
    changes = [Change(each.token, each.event_type, each.resource_id) for each in rows]
    return Transaction("w", outcome, changes, began=last - took, ended=last + took)


def transactions_of(*rows: Row) -> list[Transaction]:
    return [transaction(each) for each in rows]


def stream(rows: Sequence[Row], history_id: str, *, start: Now | FromRevision | None = None, at: float = 0.0) -> Stream:
    begin = start or FromRevision(1)
    position = begin.revision if isinstance(begin, FromRevision) else rows[0].revision
    made = Stream(begin)
    made.add([], bookmark=position - 1, history_id=history_id, created=True, at=at)
    for each in rows:
        made.add([(each.revision, each.digest)], bookmark=each.revision, history_id=history_id)
    return made


def refused(made: Stream, at: float) -> Stream:
    made.end, made.reason, made.ended_at = "OUT_OF_RANGE", "OTHER_HISTORY", at
    return made


def told() -> list[Watcher]:
    """Make one that was told of the other history, and what it saw of that."""
    former = Watcher("told", Selection(), [refused(stream(FORMER.rows, OLD), at=WHOLE_AT)], must_arrive=False)
    return [former, Watcher("told", Selection(), [stream(AFTER, NEW, start=Now(), at=WHOLE_AT)])]


def judge(
    *watchers: Watcher, eras: Sequence[Era] = (FORMER, LATTER), transactions: Sequence[Transaction] | None = None
) -> list[Violation]:
    written = transactions_of(*COMMON, *LOST, *AFTER) if transactions is None else transactions
    return verdict.judge(History(eras, written, watchers))


def rules(found: Sequence[Violation]) -> set[str]:
    return {violation.rule for violation in found}


def test_the_last_commits_may_be_lost_where_another_history_says_so() -> None:
    assert judge(*told()) == []


def test_one_that_lost_nothing_may_go_on_in_the_new_history_alone() -> None:
    whole = dataclasses.replace(LATTER, rows=[*FORMER.rows, row(9)], holds_until=BEGUN_AT)
    watcher = Watcher("late", Selection(), [stream([row(9)], NEW, start=Now(), at=8.0)])
    assert judge(watcher, eras=(FORMER, whole), transactions=transactions_of(*FORMER.rows, row(9))) == []


def test_a_log_that_lost_events_and_kept_its_history_is_told() -> None:
    silent = dataclasses.replace(LATTER, history_id=OLD)
    found = judge(eras=(FORMER, silent))
    assert rules(found) == {"W5"}
    assert "took the place of log 1, but its history is the same" in found[0].text


def test_a_watcher_that_goes_on_in_the_old_history_with_events_of_the_new_one_is_told() -> None:
    silently = Watcher("silent", Selection(), [stream([*COMMON, *LOST, AFTER[-1]], OLD)], must_arrive=False)
    assert "revision 8 was never committed" in judge(silently)[0].text
    swapped = Watcher("swapped", Selection(), [stream([*COMMON, *AFTER[:2]], OLD)], must_arrive=False)
    assert "another event" in judge(swapped)[0].text


def test_a_watcher_that_skips_what_the_new_log_kept_is_told() -> None:
    short = Watcher("short", Selection(), [stream([*COMMON[:-1], *AFTER], NEW, at=WHOLE_AT)])
    assert "never 5" in judge(short)[0].text


def test_a_watcher_that_resumes_in_the_new_history_where_it_was_in_the_old_one_is_told() -> None:
    resumed = stream(AFTER[1:], NEW, start=FromRevision(7, OLD), at=WHOLE_AT)
    watcher = Watcher("resumed", Selection(), [stream([*COMMON, LOST[0]], OLD), resumed], must_arrive=False)
    assert "W5" in rules(judge(watcher))


def test_a_watcher_that_stays_in_the_old_history_has_not_arrived() -> None:
    assert rules(judge(Watcher("stale", Selection(), [stream(FORMER.rows, OLD)]))) == {"W6"}


def test_another_history_is_told_only_where_there_is_one() -> None:
    early = Watcher("early", Selection(), [refused(stream(COMMON, OLD), at=BEGUN_AT - 1)], must_arrive=False)
    assert rules(judge(early)) == {"W5"}
    never = Watcher("never", Selection(), [refused(Stream(FromRevision(9)), at=BEGUN_AT - 1)], must_arrive=False)
    assert rules(judge(never)) == {"W5"}
    late = Watcher("late", Selection(), [refused(Stream(FromRevision(9)), at=WHOLE_AT)], must_arrive=False)
    assert judge(late) == []


@pytest.mark.parametrize(
    ("eras", "said"),
    [
        # The one that was committed first is gone, the later one is kept.
        ((FORMER, dataclasses.replace(LATTER, rows=[*COMMON, LOST[1], AFTER[-1]])), "lacks t6 CREATED of of 6"),
        # A dump was begun after all of it.
        ((FORMER, dataclasses.replace(LATTER, rows=[*COMMON, *AFTER], holds_until=7.0)), "lacks t6 CREATED of of 6"),
        # Of an event from long ago, which others have followed.
        ((FORMER, dataclasses.replace(LATTER, rows=[*COMMON[1:], *AFTER])), "lacks t1 CREATED of of 1"),
    ],
)
def test_an_event_that_is_lost_though_a_later_one_is_kept_is_told(eras: Sequence[Era], said: str) -> None:
    found = judge(
        eras=eras, transactions=transactions_of(*{each.token: each for e in eras for each in e.rows}.values())
    )
    assert rules(found) == {"W2"}
    assert any(said in violation.text for violation in found), found


def test_an_event_that_is_in_the_new_log_again_is_told() -> None:
    again = dataclasses.replace(LOST[0], revision=9, digest=9)
    found = judge(eras=(FORMER, dataclasses.replace(LATTER, rows=[*COMMON, *AFTER, again])))
    assert "W3" in rules(found)


@pytest.mark.parametrize(("ended", "is_told"), [(BEGUN_AT + 10, False), (BEGUN_AT - 1, True)])
def test_who_waited_for_an_answer_while_the_log_was_taken_away_may_have_tried_again(
    ended: float, is_told: bool
) -> None:
    again = dataclasses.replace(LOST[1], revision=9, digest=9)
    tried = dataclasses.replace(transaction(LOST[1]), ended=ended)
    written = [*transactions_of(*COMMON, LOST[0], *AFTER), tried]
    found = judge(eras=(FORMER, dataclasses.replace(LATTER, rows=[*COMMON, *AFTER, again])), transactions=written)
    assert ("W3" in rules(found)) is is_told


def test_an_event_that_is_back_in_a_third_log_is_told() -> None:
    third = Era("third", [*COMMON, LOST[0]], begun_at=200.0, whole_at=201.0)
    written = transactions_of(*COMMON, *LOST, *AFTER)
    assert "W3" in rules(judge(eras=(FORMER, LATTER, third), transactions=written))


def test_an_event_that_became_another_one_is_told() -> None:
    changed = dataclasses.replace(COMMON[1], digest=1)
    rows = [COMMON[0], changed, *COMMON[2:], *AFTER]
    assert "W3" in rules(judge(eras=(FORMER, dataclasses.replace(LATTER, rows=rows))))


def test_a_transaction_that_is_lost_in_part_is_told() -> None:
    split = dataclasses.replace(LATTER, rows=[*COMMON, LOST[0]])
    found = judge(eras=(FORMER, split), transactions=[*transactions_of(*COMMON), transaction(*LOST)])
    assert [violation.rule for violation in found] == ["W2"]
    assert "was lost in part" in found[0].text


def test_a_commit_that_no_log_holds_is_told() -> None:
    found = judge(transactions=transactions_of(*COMMON, *LOST, *AFTER, row(9)))
    assert ["does not hold t9" in violation.text for violation in found] == [True]


def test_while_a_log_comes_back_in_pieces_it_may_have_other_names() -> None:
    pieces = dataclasses.replace(LATTER, is_piecemeal=True)
    passing = stream(COMMON, PASSING, at=BEGUN_AT + 0.5)
    gone = Watcher("passing", Selection(), [refused(passing, at=WHOLE_AT)], must_arrive=False)
    assert judge(gone, eras=(FORMER, pieces)) == []
    assert rules(judge(gone)) == {"W5"}
    late = Watcher("late", Selection(), [stream(COMMON, PASSING, at=WHOLE_AT + 1)], must_arrive=False)
    assert rules(judge(late, eras=(FORMER, pieces))) == {"W5"}
    stays = Watcher("stays", Selection(), [stream([*COMMON, *AFTER], PASSING, at=BEGUN_AT + 0.5)])
    assert rules(judge(stays, eras=(FORMER, pieces))) == {"W6"}
