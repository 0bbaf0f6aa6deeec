"""An agent is killed around SQLite's commit, the outcome file and the server's answer: row and file always agree."""

import itertools
import multiprocessing
import os
import random
import signal
from pathlib import Path

import pytest

from support import mortal_agent, mortal_ops
from support.mortal_ops import EVENTS, Point

ROUNDS = int(os.environ.get("STATE_KILLS", "0"))


def _cases() -> list[tuple[Point, str]]:
    if ROUNDS:
        return list(itertools.islice(itertools.cycle(itertools.product(Point, EVENTS)), ROUNDS))
    draw = random.Random(32)
    return [(point, draw.choice(EVENTS)) for point in Point]


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Processes that have all modules loaded when they begin."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support.mortal_ops"])
    return context


@pytest.mark.parametrize("point, event", _cases())
async def test_a_killed_agent_leaves_the_charms_file_as_the_server_has_it(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext, point: Point, event: str
) -> None:
    victim = processes.Process(target=mortal_ops.die, args=(tmp_path, point, event))
    victim.start()
    victim.join(mortal_agent.DEADLINE_SECONDS)
    assert victim.exitcode == -signal.SIGKILL
    server = mortal_ops.server(tmp_path)
    await mortal_agent.live(server, tmp_path)
    assert [name for name, _ in server.state.committed] == EVENTS
    assert mortal_ops.rows(tmp_path) == EVENTS
    # Each event has added twenty rows once, whatever was tried.
    assert server.state.kept == {"count": str(20 * len(EVENTS))}
    assert server.state.failures == []
