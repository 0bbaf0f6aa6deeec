"""An agent is killed at each point of its work: effects land exactly once, and what is on the disk is not done again.

UNIT_KILLS=200 tries so many rounds instead of one for each point.
"""

import collections
import itertools
import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest

from support import mortal_agent
from support.mortal_agent import EVENTS, Point
from tinkwell.provisioner.runtime.process import identity

ROUNDS = int(os.environ.get("UNIT_KILLS", "0"))


def _cases() -> list[tuple[Point, str]]:
    each = itertools.product(Point, EVENTS)
    if ROUNDS:
        return list(itertools.islice(itertools.cycle(each), ROUNDS))
    draw = random.Random(31)
    return [(point, draw.choice(EVENTS)) for point in Point]


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that have all modules loaded when they begin."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.mortal_agent"])
    return context


@pytest.mark.parametrize("point, event", _cases())
async def test_a_killed_agent_leaves_nothing_undone_and_nothing_done_twice(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext, point: Point, event: str
) -> None:
    victim = processes.Process(target=mortal_agent.die, args=(tmp_path, point, event))
    victim.start()
    victim.join(mortal_agent.DEADLINE_SECONDS)
    assert victim.exitcode == -signal.SIGKILL
    server = mortal_agent.server(tmp_path)
    await mortal_agent.live(server, tmp_path)
    assert [name for name, _ in server.state.committed] == EVENTS
    assert server.state.kept == {f"count-{name}": "1" for name in EVENTS}
    runs = collections.Counter((tmp_path / "runs").read_text().split())
    assert runs == collections.Counter(EVENTS) + collections.Counter([event] * point.repeats)
    assert server.state.failures == []
    if point is Point.HANDLER:
        assert not identity.of(int((tmp_path / "left").read_text()))
