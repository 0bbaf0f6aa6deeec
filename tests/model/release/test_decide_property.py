"""What holds of operations whatever happens: crashes, other engines, cancellations, deadlines, answers of all kinds.

`unit.core.release_world` checks each thing that happens.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.core.release_chance import draw_any_plan, draw_world, happen
from unit.core.release_party import ENGINES, Event
from unit.core.release_world import World, settle

from support.thorough import few
from tinkwell.core.event.kinds import State
from tinkwell.core.release import walk
from tinkwell.core.release.kinds import NodeState, NodeTask

T = TypeVar("T")
SEEDS = range(8)
WORLDS = 60
MAX_EVENTS = 120


class Drawn:
    """Chooses as Hypothesis does."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def __call__(self, options: Sequence[T], /) -> T:
        return self._data.draw(st.sampled_from(options))


def check_settled(of: World) -> None:
    settle(of)
    ended = of.store.operation
    is_made_up_for = of.options.atomic and ended.state is not State.SUCCEEDED
    assert (of.store.follow_up is not None) == is_made_up_for
    assert not of.store.is_held or is_made_up_for


@given(st.data())
@settings(max_examples=100)
def test_whatever_happens_an_operation_settles(data: st.DataObject) -> None:
    choose = Drawn(data)
    of = draw_world(choose)
    happen(of, choose, limit=30)
    check_settled(of)


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_whatever_happens_for_long_an_operation_settles(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(WORLDS):
        of = draw_world(chance.choice)
        happen(of, chance.choice, limit=chance.randrange(MAX_EVENTS))
        check_settled(of)


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_without_an_owner_the_deadline_ends_it(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(WORLDS):
        of = draw_world(chance.choice)
        happen(of, chance.choice, limit=chance.randrange(MAX_EVENTS))
        if of.is_over:
            continue
        if of.owner is not None:
            of.perform(Event("crash"))
        of.perform(Event("pass", how="deadline"))
        ended = of.store.operation
        assert ended.state is (State.CANCELLED if ended.is_cancel_requested else State.TIMEOUT)


@pytest.mark.parametrize("is_cancelled", [True, False])
@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_after_a_cancellation_or_the_deadline_it_ends_within_its_grace(seed: int, is_cancelled: bool) -> None:
    chance = random.Random(seed)
    for _ in range(WORLDS):
        of = draw_world(chance.choice)
        happen(of, chance.choice, limit=chance.randrange(MAX_EVENTS))
        if of.is_over:
            continue
        if of.owner is None:
            of.perform(Event(f"take {chance.choice(ENGINES)}"))
        wish = Event("cancel") if is_cancelled else Event("pass", how="deadline")
        if wish in of.events():
            of.perform(wish)
        begun = of.seconds
        while events := of.events():
            # Nothing ends by itself.
            of.perform(next(event for event in events if event in (Event("obey"), Event("pass", how="wait"))))
        assert of.seconds - begun <= 30


@pytest.mark.parametrize("seed", few(SEEDS, 1))
def test_where_nothing_goes_wrong_everything_is_brought_about(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(WORLDS):
        of = draw_world(chance.choice)
        of.problems = {}
        settle(of)
        assert of.store.operation.state is State.SUCCEEDED
        for stored in of.store.nodes.values():
            is_install = stored.row.task is NodeTask.INSTALL
            assert stored.row.state in ((NodeState.READY,) if is_install else (NodeState.REMOVED, NodeState.LEFT))


@given(st.data(), st.integers(1, 4))
def test_the_walk_starts_what_is_ready_and_no_more_than_it_may(data: st.DataObject, parallel: int) -> None:
    of = draw_any_plan(Drawn(data))
    states = {node.path: data.draw(st.sampled_from(NodeState)) for node in of.real}
    started = walk.Survey(of, states).startable(parallel=parallel)
    begun = sum(states[node.path] in walk.BEGUN for node in of.called)
    assert len(started) <= max(parallel - begun, 0)
    assert list(started) == [node.path for node in of.nodes if node.path in started]
    for node in of.called:
        waits = walk.waits_for(of, states, node.path)
        if states[node.path] is not NodeState.PENDING or node.path in started:
            assert not waits
        elif not waits:
            assert begun + len(started) >= parallel, "only the bound holds it back"


@given(st.data())
def test_what_is_hopeless_never_starts_and_everything_else_does(data: st.DataObject) -> None:
    of = draw_any_plan(Drawn(data))
    failing = {node.path for node in (*of.called, *of.events) if data.draw(st.sampled_from((True, False, False)))}
    states = {node.path: NodeState.PENDING for node in of.real}
    before: dict[str, NodeState] = {}
    found: dict[str, walk.Blocker] = {}
    while states != before:
        before, survey = dict(states), walk.Survey(of, states)
        # What comes after a barrier begins once these have ended as well.
        hopeless = dict(survey.hopeless())
        found |= hopeless
        states |= dict.fromkeys(hopeless, NodeState.SKIPPED)
        states |= {node.path: NodeState.INSTALLING for node in survey.opening()}
        ends = {each.path: each.blocker is None for each in survey.closing()}
        ends |= {path: path not in failing for path in (*survey.startable(parallel=9), *survey.audible())}
        states |= {path: NodeState.READY if is_done else NodeState.FAILED for path, is_done in ends.items()}
    assert all(state.is_final for state in states.values())
    assert found.keys() == {path for path, state in states.items() if state is NodeState.SKIPPED}
    assert all(blocker.path in failing and blocker.state is NodeState.FAILED for blocker in found.values())
