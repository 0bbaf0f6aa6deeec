"""The rule that puts events in order, against a simulated database whose every interleaving hypothesis may choose."""

import dataclasses
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.log_event import make_event
from tinkwell.core.event.page import Page
from tinkwell.server.log.read.order import Gap, Tail


def page(*revisions: int, is_cut: bool = False) -> Page:
    return Page([make_event(revision) for revision in revisions], is_cut)


def released(tail: Tail, *revisions: int, is_cut: bool = False) -> list[int]:
    return [event.revision for event in tail.observe(page(*revisions, is_cut=is_cut))]


def new_tail(last: int = 0) -> Tail:
    return Tail(last=last, waiting_bytes=1 << 20)


def test_events_without_a_gap_are_released_at_once() -> None:
    tail = new_tail()
    assert released(tail, 1, 2, 3) == [1, 2, 3]
    assert (tail.tail, tail.released, tail.gaps) == (3, 3, [])


def test_events_above_a_gap_wait_until_it_closes() -> None:
    tail = new_tail()
    assert released(tail, 1, 3, 6) == [1]
    assert tail.gaps == [(2, 2), (4, 5)]
    assert released(tail, 2, 5) == [2, 3]
    assert tail.gaps == [(4, 4)]
    assert released(tail, 4, 7) == [4, 5, 6, 7]


def test_a_gap_is_not_dead_while_a_holder_remains() -> None:
    tail = new_tail()
    released(tail, 2)
    released(tail)
    tail.observe_holders(frozenset({"a", "b"}))
    assert released(tail) == []
    tail.observe_holders(frozenset({"b", "c"}))
    assert released(tail) == []
    tail.observe_holders(frozenset({"c"}))
    assert tail.is_settling
    assert released(tail) == [2], "c began after the gap was seen, so it cannot own it"


def test_an_abandoned_gap_is_dead_only_after_one_more_page() -> None:
    tail = new_tail()
    released(tail, 2)
    released(tail)
    tail.observe_holders(frozenset())
    assert tail.released == 0, "its row may have become visible since the page"
    assert released(tail, 1) == [1, 2]


def test_a_page_that_is_cut_costs_what_it_covers_however_many_gaps_lie_beyond(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gaps, size = 500, 3
    every = range(1, gaps * size + 1)
    others = [revision for revision in every if revision % size == 0]
    tail = new_tail()
    assert released(tail, *others) == []
    released(tail)
    tail.observe_holders(frozenset())
    looked_at = 0
    look = Gap.without

    def count(gap: Gap, revisions: Sequence[int]) -> Iterator[Gap]:
        nonlocal looked_at
        looked_at += 1
        return look(gap, revisions)

    monkeypatch.setattr(Gap, "without", count)
    missing = [revision for revision in every if revision % size]
    got: list[int] = []
    for place in range(0, len(missing), 10):
        got += released(tail, *missing[place : place + 10], is_cut=True)
    assert got == list(every)
    assert looked_at <= gaps


def test_holders_are_not_believed_for_a_gap_that_is_younger_than_the_question() -> None:
    tail = new_tail()
    released(tail, 2)
    assert not tail.needs_holders, "most gaps close by themselves"
    tail.observe_holders(frozenset())
    assert not tail.is_settling


def test_a_later_gap_does_not_inherit_the_holders_of_an_earlier_one() -> None:
    tail = new_tail()
    released(tail, 2)
    released(tail)
    tail.observe_holders(frozenset({"a"}))
    released(tail, 4)
    tail.observe_holders(frozenset())
    assert released(tail) == [2], "the first gap is dead, the second has just been seen"
    tail.observe_holders(frozenset({"b"}))
    assert released(tail) == []


def test_a_page_that_was_cut_short_decides_only_as_far_as_it_goes() -> None:
    tail = new_tail()
    released(tail, 2, 4)
    released(tail)
    tail.observe_holders(frozenset())
    assert released(tail, 1, is_cut=True) == [1, 2]
    assert tail.gaps == [(3, 3)], "the page ended at 1, so it says nothing about 3"
    assert released(tail) == [4]


def test_a_lost_connection_makes_every_gap_be_asked_about_again() -> None:
    tail = new_tail()
    released(tail, 2)
    released(tail)
    tail.observe_holders(frozenset())
    tail.forget_holders()
    assert released(tail) == []
    tail.observe_holders(frozenset({"a"}))
    assert released(tail, 1) == [1, 2]


def test_at_the_bound_of_waiting_bytes_the_tail_stops() -> None:
    tail = Tail(last=0, waiting_bytes=10)
    tail.observe(Page([make_event(2, data="x" * 11)], is_cut=False))
    assert not tail.may_advance
    assert [e.revision for e in tail.observe(page(1))] == [1, 2]
    assert tail.may_advance


def test_a_gap_of_a_million_revisions_costs_one_entry() -> None:
    tail = new_tail()
    released(tail, 1_000_001)
    assert tail.gaps == [(1, 1_000_000)]
    assert released(tail, 500_000) == []
    assert tail.gaps == [(1, 499_999), (500_001, 1_000_000)]


class Few(Tail):
    """As a tail, over gaps that are soon too many."""

    few_gaps, many_gaps = 2, 3


def test_a_page_is_asked_about_few_gaps_while_the_oldest_is_open_and_about_many_once_it_is_abandoned() -> None:
    tail = new_tail()
    for revision in range(2, 10_001, 2):  # one number of two is rolled back beside a transaction that stays open
        assert released(tail, revision) == []
        tail.observe_holders(frozenset({"open", f"writer of {revision}"}))
        assert len(tail.gaps) <= 64
    assert (tail.gaps[0], len(tail.gaps)) == ((1, 1), 64)
    released(tail)
    tail.observe_holders(frozenset())
    pages, got = 0, []
    while tail.has_gaps:
        assert len(tail.gaps) == 1_000
        got += released(tail)
        pages += 1
    assert (pages, got) == (5, list(range(2, 10_001, 2)))


def test_gaps_that_wait_for_the_same_transactions_are_settled_as_one() -> None:
    tail = new_tail()
    for revision in range(2, 1_001, 2):
        released(tail, revision)
        tail.observe_holders(frozenset({"open"}))
    released(tail)
    tail.observe_holders(frozenset({"open"}))
    assert len(tail._spans) == 1


def test_a_page_says_nothing_of_gaps_that_it_was_not_asked_about() -> None:
    tail = Few(last=0, waiting_bytes=1 << 20)
    released(tail, 2, 4, 6, 8, 10)
    released(tail)
    tail.observe_holders(frozenset())
    assert tail.gaps == [(1, 1), (3, 3), (5, 5)]
    assert released(tail) == [2, 4, 6]
    assert released(tail, 7) == [7, 8, 10], "the row of 7 was there all the time"


@dataclasses.dataclass
class Writer:
    """One transaction: draws numbers while it holds the lock, then commits or rolls back."""

    name: str
    drawn: list[int] = dataclasses.field(default_factory=list)


class Database:
    """As much of PostgreSQL as the rule depends on: numbers are drawn in order, rows appear at commit."""

    def __init__(self) -> None:
        self.next = 1
        self.writers: dict[int, Writer] = {}
        self.visible: list[int] = []
        self.begun = 0

    def draw(self, who: int) -> None:
        if who not in self.writers:
            self.begun += 1
            self.writers[who] = Writer(f"w{self.begun}")
        self.writers[who].drawn.append(self.next)
        self.next += 1

    def end(self, who: int, *, commits: bool) -> None:
        writer = self.writers.pop(who, None)
        if writer is not None and commits:
            self.visible = sorted([*self.visible, *writer.drawn])

    def page(self, gaps: list[tuple[int, int]], tail: int | None, limit: int) -> Page:
        wanted = [
            revision
            for revision in self.visible
            if any(first <= revision <= last for first, last in gaps) or (tail is not None and revision > tail)
        ]
        return Page([make_event(revision) for revision in wanted[:limit]], len(wanted) >= limit)

    def holders(self) -> frozenset[str]:
        return frozenset(writer.name for writer in self.writers.values())


steps = st.one_of(
    st.tuples(st.just("draw"), st.integers(0, 3)),
    st.tuples(st.just("commit"), st.integers(0, 3)),
    st.tuples(st.just("roll back"), st.integers(0, 3)),
    st.tuples(st.just("page"), st.sampled_from([1, 2, 100])),
    st.tuples(st.just("holders"), st.just(0)),
    st.tuples(st.just("lose connection"), st.just(0)),
)


def step(database: Database, tail: Tail, what: str, number: int) -> list[int]:
    match what:
        case "draw":
            database.draw(number)
        case "commit" | "roll back":
            database.end(number, commits=what == "commit")
        case "page":
            seen = database.page(tail.gaps, tail.tail if tail.may_advance else None, number)
            return [event.revision for event in tail.observe(seen)]
        case "holders":
            tail.observe_holders(database.holders())
        case _:
            tail.forget_holders()
    return []


@pytest.mark.parametrize("kind", [Tail, Few])
@settings(max_examples=500)
@given(st.lists(steps, max_size=60))
def test_every_committed_event_is_released_once_and_in_order(kind: type[Tail], script: list[tuple[str, int]]) -> None:
    database, tail, delivered = Database(), kind(last=0, waiting_bytes=1 << 20), []
    for what, number in script:
        delivered += step(database, tail, what, number)
        assert delivered == [revision for revision in database.visible if revision <= tail.released], (
            "a bookmark must promise only what was delivered"
        )
    for writer in list(database.writers):
        database.end(writer, commits=True)
    for _ in range(4 if kind is Tail else 60):
        for what, number in (("page", 100), ("holders", 0)):
            delivered += step(database, tail, what, number)
    assert delivered == database.visible
    assert not tail.gaps


def test_the_simulation_catches_a_reader_that_declares_gaps_dead_too_early() -> None:
    class Hasty(Tail):
        def observe_holders(self, holders: frozenset[str]) -> None:
            super().observe_holders(frozenset())

    database, tail = Database(), Hasty(last=0, waiting_bytes=1 << 20)
    script = [("draw", 0), ("draw", 1), ("commit", 1), ("page", 100), ("page", 100), ("holders", 0), ("page", 100)]
    delivered = [revision for what, number in script for revision in step(database, tail, what, number)]
    database.end(0, commits=True)
    with pytest.raises(AssertionError):
        assert delivered == [revision for revision in database.visible if revision <= tail.released]
