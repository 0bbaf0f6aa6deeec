"""Everything that can happen to small plans, in every order: `unit.core.release_world` checks each step of the way."""

from collections import defaultdict
from typing import Any

import pytest
from unit.core.release_model import install, plan, remove
from unit.core.release_world import World, world

from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision.view import InitFacts, NodeSpec
from tinkwell.core.release.kinds import NodeTask, PlanKind
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import Call

FACTS = InitFacts(state_call=Call(name="state"), destroy_call=Call(name="destroy"))
POLLED = InitFacts(state_call=Call(name="state"), destroy_call=Call(name="destroy"), poll_seconds=20)
ENDS = {State.SUCCEEDED, State.FAILED, State.TIMEOUT, State.CANCELLED}


def begin(of: Plan, *, crashes: int, accept_lost: bool = False, facts: InitFacts = FACTS, known: bool = True) -> World:
    paths = [node.path for node in of.called]
    made = world(
        of,
        specs={path: NodeSpec(type="image", owned=True) for path in paths},
        facts=dict.fromkeys(paths, facts),
        known=[node.path for node in of.resources] if known else (),
        options=Options(accept_lost=accept_lost),
    )
    made.max_crashes = crashes
    made.answers = ("valid", "absent")
    return made


def explore(first: World) -> set[State]:
    """Let everything happen that can, check that an end is reached from everywhere, and return the ends."""
    seen: dict[Any, int] = {first.key(): 0}
    before: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, State] = {}
    waiting = [(0, first)]
    while waiting:
        place, found = waiting.pop()
        events = found.events()
        if not events:
            ends[place] = found.store.operation.state
        for event in events:
            after = found.copy()
            after.perform(event)
            key = after.key()
            if key not in seen:
                seen[key] = len(seen)
                waiting.append((seen[key], after))
            before[seen[key]].append(place)
    reached = set(ends)
    todo = list(ends)
    while todo:
        for place in before[todo.pop()]:
            if place not in reached:
                reached.add(place)
                todo.append(place)
    assert len(reached) == len(seen), "an end is reached from everywhere"
    return set(ends.values())


@pytest.mark.parametrize("known", [True, False])
def test_one_is_installed_and_one_is_removed(known: bool) -> None:
    assert explore(begin(plan(install("db"), remove("old")), crashes=0, known=known)) == ENDS


def test_two_are_installed_at_once_and_a_third_after_them() -> None:
    first = begin(plan(install("a"), install("b"), install("c", "a", "b")), crashes=0)
    first.answers = ("valid",)
    assert explore(first) == ENDS


def test_one_becomes_ready_late() -> None:
    first = begin(plan(install("db")), crashes=0, facts=POLLED)
    assert explore(first) == ENDS


@pytest.mark.parametrize("accept_lost", [True, pytest.param(False, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("of", [plan(install("db")), plan(remove("old"))], ids=["install", "remove"])
def test_an_owner_dies_and_another_takes_over(of: Plan, accept_lost: bool) -> None:
    assert explore(begin(of, crashes=1, accept_lost=accept_lost)) == ENDS


LED = plan(
    PlanNode(path="/pre-install", kind=PlanKind.EVENT),
    PlanNode(path="h@pre-install", kind=PlanKind.HOOK, after=("/pre-install",)),
)


@pytest.mark.parametrize("crashes", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_an_event_and_its_hook_come_first(crashes: int) -> None:
    first = begin(plan(*LED.nodes, install("db", "h@pre-install")) if not crashes else LED, crashes=crashes)
    first.answers = ("valid", "absent") if crashes else ("valid",)
    assert explore(first) == ENDS


def test_a_hook_of_a_removal_is_brought_about() -> None:
    after = PlanNode(path="h@post-delete", kind=PlanKind.HOOK, task=NodeTask.REMOVE, after=("old",))
    assert explore(begin(plan(remove("old"), after), crashes=0)) == ENDS


@pytest.mark.thorough
def test_two_owners_die_one_after_the_other() -> None:
    assert explore(begin(plan(remove("old")), crashes=2)) == ENDS
