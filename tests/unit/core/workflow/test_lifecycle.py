"""The table of states is whole."""

from collections.abc import Sequence

import pytest

from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.workflow import lifecycle
from tinkwell.core.workflow.lifecycle import ACTION_RULES, WORKFLOW_RULES, Mover, Rule

TABLES = {"Workflow": WORKFLOW_RULES, "Action": ACTION_RULES}


@pytest.mark.parametrize("rules", TABLES.values(), ids=TABLES)
def test_every_state_can_be_reached_and_every_unfinished_one_be_left_by_a_user(rules: Sequence[Rule]) -> None:
    targets = lifecycle.targets(rules)
    reached = {State.PENDING}
    while more := {after for state in reached for after in targets[state]} - reached:
        reached |= more
    assert reached == set(State)
    for state in State:
        cancelled = [rule for rule in rules if rule.source is state and Mover.USER in rule.movers]
        assert [rule.target for rule in cancelled] == ([] if state.is_final else [State.CANCELLED])


def test_each_step_has_an_event_of_its_own() -> None:
    for rules, kind in ((WORKFLOW_RULES, "WORKFLOW"), (ACTION_RULES, "ACTION")):
        assert len({(rule.source, rule.target) for rule in rules}) == len(rules)
        events = {rule.target: rule.event_type for rule in rules}
        assert set(events.values()) == {
            event for event in EventType if event.startswith(kind) and event is not EventType.WORKFLOW_INPROGRESS
        }
