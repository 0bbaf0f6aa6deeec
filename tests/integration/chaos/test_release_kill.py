"""Provisioners that die at their deeds, a few times; `make kill-releases` does it two hundred times."""

import itertools
import random
from pathlib import Path

import pytest

from support.release_kill import case, run
from support.release_kill.case import Case, Fate
from support.release_kill.deed import Deed, Moment
from tinkwell.server.app.dev import place

# Of the runs of an installation the 4th, the 5th and the 8th are actions; all those of a removal may change something.
_POINTS: tuple[tuple[Deed, Moment, int, Fate, bool], ...] = (
    (Deed.CREATE, Moment.BEFORE, 5, Fate.DREAM, False),
    (Deed.START, Moment.BEFORE, 4, Fate.DREAM, False),
    (Deed.INPUT, Moment.AMID, 4, Fate.RETURN, False),
    (Deed.EXIT, Moment.BEFORE, 8, Fate.NEIGHBOUR, False),
    (Deed.START, Moment.AFTER, 5, Fate.ELSEWHERE, False),
    (Deed.REPORT, Moment.BEFORE, 1, Fate.ELSEWHERE, True),
    (Deed.PLAN, Moment.BEFORE, 1, Fate.CANCEL, False),
)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_whoever_dies_at_whatever_deed_the_operation_settles_and_no_action_runs_twice(tmp_path: Path) -> None:
    cases = [
        Case(number=number, deed=deed, moment=moment, nth=nth, fate=fate, removes=removes, is_chart=number % 2 == 1)
        for number, (deed, moment, nth, fate, removes) in enumerate(_POINTS, 1)
    ]
    with place.temporary() as directory:
        result = await run.run(run.Options(cases=cases, directory=directory, output=tmp_path / "history.jsonl"))
    print(result.text)
    assert result.violations == []


def test_all_deeds_meet_all_fates_before_any_does_again() -> None:
    cases = case.draw(random.Random(1), 200)
    pairs = [(each.deed, each.moment, each.fate) for each in cases]
    assert len(set(pairs[:150])) == 150
    assert {each.deed for each in cases} == set(Deed)
    assert {(each.removes, each.is_chart) for each in cases} == {*itertools.product((True, False), repeat=2)}
