"""When a unit runs a task, and what its ledger has after it."""

from dataclasses import replace
from typing import Any

import pytest
from unit.core.unit_life import (
    ALIVE,
    DEAD,
    DYING,
    STARTED,
    owned,
    peer,
    relation,
    relations,
    secrets,
    started,
    told,
    view,
)

from tinkwell.core.unit.kinds import EventKind, StepKind
from tinkwell.core.unit.ledger import Ledger, SecretLedger, SetupStep, Written
from tinkwell.core.unit.resolver.advance import advance_task
from tinkwell.core.unit.resolver.resolve import next_event, next_task
from tinkwell.core.unit.unit_event import UnitEvent

IN_PAIR = replace(STARTED, queue=(UnitEvent(kind=EventKind.RELATION_CHANGED, relation=3, unit="pg/0"),))
IN_SETUP = Ledger(installed=True, plan=(SetupStep(StepKind.START),))


@pytest.mark.parametrize(
    ("ledger", "changes", "expected"),
    [
        (STARTED, {}, "t1"),
        (STARTED, {"task": ""}, ""),
        (Ledger(), {}, ""),
        (IN_SETUP, {}, ""),
        (IN_PAIR, {}, ""),
        (replace(STARTED, removed=True), {}, ""),
        (STARTED, {"is_held": True}, ""),
        (STARTED, {"life": DYING}, ""),
        (STARTED, {"life": DEAD}, ""),
    ],
)
@pytest.mark.parametrize("has_error", [False, True])
def test_a_task_runs_after_the_start_and_between_no_two_events_that_follow_each_other(
    ledger: Ledger, changes: dict[str, Any], expected: str, has_error: bool
) -> None:
    assert next_task(ledger, view(**{"task": "t1", **changes}), has_error=has_error) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"relations": relations(relation(membership=None))},
        {"leader": "web/0", "term": 1},
        {"leader": "web/1", "term": 1, "announced_term": 1},
    ],
)
def test_new_relations_and_leadership_come_before_a_task_unless_an_event_has_failed(changes: dict[str, Any]) -> None:
    seen = view(task="t1", **changes)
    assert next_event(STARTED, seen) is not None
    assert next_task(STARTED, seen) == ""
    assert next_task(STARTED, seen, has_error=True) == "t1"


def test_a_task_comes_before_all_else_that_is_due() -> None:
    shown = {"storages": {"data/0": ALIVE}, "config_version": 2, "is_tick_due": True}
    assert next_task(STARTED, view(task="t1", secrets=secrets(owned(is_rotation_due=True)), **shown)) == "t1"


def test_a_task_reads_secrets_and_is_a_handler_of_no_relation() -> None:
    ledger = started({3: told("pg/0", own_version=1), 1: told("web/1", application_version=4)})
    seen = view(relations=relations(relation(own_version=2), peer(application_version=5)))
    written = Written(own=frozenset({3}), peer_application=frozenset({1}), tracked={"s1": 2})
    after = advance_task(ledger, seen, written)
    assert after.secrets == {"s1": SecretLedger(tracked=2)}
    assert after.relations[3].own_version == 1
    assert after.relations[1].application_version == 5
    assert advance_task(ledger, seen, Written()) == ledger
