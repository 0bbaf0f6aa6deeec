"""What a rule set owes, and what a restart makes of it."""

import datetime
import logging
import random
from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies
from unit.provisioner.automation.sample import BEGIN, event, rules

from tinkwell.provisioner.automation import ledger
from tinkwell.provisioner.automation.rule import matching, model

RULES = rules(
    """
name: set
rules:
  - name: every
    on: {event_type: WORKFLOW_TIMEOUT}
    do: {command: {argv: [one]}}
  - name: some
    on: {event_type: WORKFLOW_TIMEOUT}
    if: event.data.some
    do: {command: {argv: [two]}}
  - name: late
    expect:
      after: {on: {event_type: WORKFLOW_STARTED}}
      event: {on: {event_type: WORKFLOW_SUCCEEDED}}
      within: 10s
    do: {command: {argv: [three]}}
"""
)
NAMES = ["workflow.timeout", "workflow.started", "workflow.succeeded", "workflow.failed"]
POSITIONS = ["automation_set", "automation_set_late"]


def begin(begun: dict[str, int] | None = None) -> ledger.Ledger:
    return ledger.Ledger(RULES, begun or dict.fromkeys(POSITIONS, 0))


def take(
    book: ledger.Ledger, revision: int, name: str = "workflow.timeout", *, is_some: bool = True
) -> list[model.Effect]:
    found = event(revision, name, resource=str(revision % 3), seconds=revision, data={"some": is_some})
    assert found.created_at is not None
    return book.take(matching.Sight(found), at=found.created_at)


def at(seconds: float) -> datetime.datetime:
    return BEGIN + datetime.timedelta(seconds=seconds)


def test_a_position_stays_before_the_first_event_that_is_not_done() -> None:
    book = begin()
    first, second = take(book, 1)
    (third,) = take(book, 2, is_some=False)
    assert [first.key, second.key] == [f"{first.event.id}:set:every", f"{first.event.id}:set:some"]
    book.finish(third)
    book.finish(first)
    assert book.positions() == {"automation_set": 0, "automation_set_late": 2}
    book.finish(second)
    assert book.positions() == {"automation_set": 2, "automation_set_late": 2}
    book.reach(9)
    assert set(book.positions().values()) == {9}


def test_a_rules_own_position_stays_before_what_it_waits_for() -> None:
    book = begin()
    take(book, 5, "workflow.started")
    take(book, 6, "workflow.failed")
    assert book.positions() == {"automation_set": 6, "automation_set_late": 4}
    assert book.next_deadline() == at(15)
    (effect,) = book.overdue(at(15.1))
    assert effect.key == f"{effect.event.id}:set:late"
    assert book.positions()["automation_set_late"] == 4
    book.finish(effect)
    assert book.positions()["automation_set_late"] == 6


def test_the_sets_position_is_moved_last_since_rules_that_are_new_begin_there() -> None:
    book = begin()
    book.reach(9)
    assert list(book.positions())[-1] == "automation_set"


def test_a_condition_that_cannot_be_evaluated_is_logged_and_does_not_match(caplog: pytest.LogCaptureFixture) -> None:
    found = event(1, "workflow.timeout")
    skipped: list[str] = []
    with caplog.at_level(logging.WARNING):
        effects = begin().take(matching.Sight(found, skipped.append), at=BEGIN)
    assert [effect.rule.name for effect in effects] == ["every"]
    (record,) = caplog.records
    assert vars(record)["rule"] == "some"
    assert "some" in vars(record)["cause"]
    assert skipped == ["some"]


HEAVY = rules(
    """
name: set
rules:
  - name: one
    on: {event_type: WORKFLOW_TIMEOUT}
    if: event.data.text.matches('a')
    do: {command: {argv: [one]}}
  - name: late
    expect:
      after: {on: {event_type: WORKFLOW_STARTED}, if: "event.data.text.matches('b')"}
      event: {on: {event_type: WORKFLOW_SUCCEEDED}}
      within: 10s
    do: {command: {argv: [two]}}
"""
)


def test_a_condition_that_may_take_long_is_owed_until_it_is_known() -> None:
    book = ledger.Ledger(HEAVY, dict.fromkeys(POSITIONS, 0))
    sight = matching.Sight(event(1))
    assert list(book.undecided(sight)) == []
    (effect,) = book.take(sight, at=BEGIN)
    assert effect.condition is not None
    assert effect.condition.text == "event.data.text.matches('a')"
    assert book.positions()["automation_set"] == 0
    book.finish(effect)
    assert book.positions()["automation_set"] == 1


@pytest.mark.parametrize("holds", [True, False])
def test_what_is_expected_is_known_before_the_event_is_taken(*, holds: bool) -> None:
    book = ledger.Ledger(HEAVY, dict.fromkeys(POSITIONS, 0))
    sight = matching.Sight(event(1, "workflow.started"))
    ((rule, condition),) = book.undecided(sight)
    assert (rule, condition.text) == ("late", "event.data.text.matches('b')")
    sight.decide(condition, holds=holds)
    assert list(book.undecided(sight)) == []
    assert book.take(sight, at=BEGIN) == []
    assert book.open_count == holds
    # What lies before its position is not asked for.
    book = ledger.Ledger(HEAVY, {"automation_set": 0, "automation_set_late": 1})
    assert list(book.undecided(matching.Sight(event(1, "workflow.started")))) == []


@hypothesis.given(
    names=strategies.lists(strategies.sampled_from(NAMES), min_size=1, max_size=25),
    crash_after=strategies.integers(0, 25),
    chance=strategies.randoms(use_true_random=False),
)
def test_whenever_it_dies_its_successor_does_all_that_was_not_finished(
    names: list[str], crash_after: int, chance: random.Random
) -> None:
    whole, finished = begin(), Counter[str]()
    for revision, name in enumerate(names, 1):
        for effect in take(whole, revision, name):
            finished[effect.key] += 1
    wanted = set(finished) | {effect.key for effect in whole.overdue(at(1_000))}

    finished.clear()
    book, open_effects, stored = begin(), list[model.Effect](), dict.fromkeys(POSITIONS, 0)
    for revision, name in enumerate(names[:crash_after], 1):
        open_effects += take(book, revision, name)
        if chance.random() < 0.5:
            open_effects += book.overdue(at(revision))
        for effect in [each for each in open_effects if chance.random() < 0.5]:
            open_effects.remove(effect)
            book.finish(effect)
            finished[effect.key] += 1
        if chance.random() < 0.7:
            assert all(book.positions()[position] >= revision for position, revision in stored.items())
            stored = book.positions()

    resumed = begin(stored)
    for revision, name in enumerate(names[resumed.seen :], resumed.seen + 1):
        for effect in take(resumed, revision, name):
            finished[effect.key] += 1
    for effect in resumed.overdue(at(1_000)):
        finished[effect.key] += 1
    assert set(finished) == wanted
    assert max(finished.values(), default=0) <= 2
