"""The worst kinds of faults, once, while applications live; `make chaos-units` does it with many more."""

import pytest

from support.unit_chaos import run
from support.unit_chaos.fault import Kind
from tinkwell.server.app.dev import place

# Those that others do not do with more force.
KINDS = (Kind.KILLED_AGENT, Kind.DREAMING_AGENT, Kind.KILLED_SCRIPT, Kind.KILLED_SERVER, Kind.IMMEDIATE_RESTART)


@pytest.mark.slow
@pytest.mark.timeout(420)
async def test_every_unit_keeps_to_the_order_of_its_life_while_all_is_killed() -> None:
    with place.temporary() as directory:
        options = run.Options(
            seed=31, seconds=5.0, rounds=1, directory=directory, lease_seconds=2.0, pause_seconds=0.1, kinds=KINDS
        )
        result = await run.run(options)
    print(result.text)
    assert result.violations == []
    assert set(result.injected) == set(KINDS)


@pytest.mark.slow
@pytest.mark.timeout(420)
async def test_short_storms_leave_nothing_behind_for_each_other() -> None:
    with place.temporary() as directory:
        options = run.Options(
            seed=7,
            seconds=2.0,
            rounds=1,
            storms=2,
            directory=directory,
            lease_seconds=2.0,
            pause_seconds=0.1,
            kinds=(Kind.KILLED_AGENT, Kind.KILLED_SERVER),
        )
        result = await run.run(options)
    print(result.text)
    assert result.violations == []
    assert result.injected[Kind.KILLED_AGENT] >= 2
    assert result.injected[Kind.KILLED_SERVER] >= 2
