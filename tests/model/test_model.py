"""Every interleaving of writers and readers, within bounds, keeps the log's promises, and every mistake breaks one.

The readers run the real `Cycle` and `Tail`; `support.log_model` has the rest and says what must hold.

Mistakes that the model cannot show, and why:

* holders and gap read in one REPEATABLE READ transaction: the same as in one statement, which it shows;
* OR in place of UNION ALL, a missing index, a frozen sleeper: they cost time, of which the model has none;
* holders kept when a connection is lost, though a new server may give out their names again: this can only make a gap
  wait longer, which the last test shows;
* TRUNCATE, revoked privileges, two-phase commit, search paths: they concern what writes events, not how they are read.
"""

from collections.abc import Callable

import pytest

from support.log_model import mistake, tail_mistake
from support.log_model.explore import explore
from support.log_model.state import Bounds
from support.log_model.world import LogModel

pytestmark = pytest.mark.slow

BOUNDS = [
    Bounds(3),
    Bounds(2, long=True),
    Bounds(2, readers=2),
    Bounds(2, inserts=2, savepoints=True),
    Bounds(2, joins=True, losses=1),
    Bounds(2, losses=2),
    Bounds(2, delays=True),
    Bounds(1, readers=2, losses=1, delays=True),
    Bounds(1, readers=2, losses=1, joins=True),
    Bounds(2, joins=True, crashes=1),
    Bounds(2, inserts=2, page=1, waiting_bytes=1),
    Bounds(2, joins=True, forgets=True),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_every_interleaving_keeps_every_promise(bounds: Bounds, record_property: Callable[[str, object], None]) -> None:
    explored = explore(LogModel(bounds))
    print(f"{bounds}: {explored.interleavings:.2e} interleavings, {explored}")
    assert not explored.broken, explored
    record_property("explored", [explored.states, explored.transitions, explored.interleavings])


@pytest.mark.parametrize("name", mistake.ALL)
def test_a_mistake_is_found(name: str, record_property: Callable[[str, object], None]) -> None:
    model, cycle, bounds = mistake.ALL[name]
    explored = explore(model(bounds, cycle))
    print(f"{name} ({bounds}): {explored}")
    assert explored.broken, explored
    record_property("mistake", name)


def test_holders_kept_over_a_lost_connection_are_no_mistake_but_only_slower() -> None:
    explored = explore(LogModel(Bounds(2, losses=1), tail_mistake.with_tail(tail_mistake.KeepsHolders)))
    assert not explored.broken, explored


@pytest.mark.parametrize("bounds", [Bounds(3), Bounds(2, inserts=2, page=1, waiting_bytes=1)], ids=str)
def test_asking_about_one_gap_at_a_time_keeps_every_promise(bounds: Bounds) -> None:
    explored = explore(LogModel(bounds, tail_mistake.with_tail(tail_mistake.OneByOne)))
    print(f"one gap at a time, {bounds}: {explored}")
    assert not explored.broken, explored
