"""Runs that were killed at their deadline by somebody who could not say so any more."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from unit.provisioner.fake_runtime import FakeRuntime, FakeWorld
from unit.provisioner.stage import Files, Stage, action, key_of

from tinkwell.core.event.kinds import State
from tinkwell.provisioner.agent import deadline, run_spec
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow.action import work_of

KILLED = 137


@pytest.mark.parametrize(
    ("ending", "limit_seconds", "was_kept"),
    [
        (port.Exit(code=KILLED, seconds=60.2), 60.0, True),
        (port.Exit(code=KILLED, seconds=56.0), 60.0, True),
        (port.Exit(code=KILLED, seconds=54.0), 60.0, False),
        (port.Exit(code=KILLED, seconds=0.4), 1.0, False),
        (port.Exit(code=KILLED, seconds=60.2, note="its memory was used up"), 60.0, False),
        (port.Exit(code=KILLED), 60.0, False),
        (port.Exit(code=KILLED, seconds=60.2), None, False),
        (port.Exit(code=1, seconds=60.2), 60.0, False),
    ],
)
def test_a_run_was_killed_at_its_deadline_where_it_took_until_then(
    ending: port.Exit, limit_seconds: float | None, was_kept: bool
) -> None:
    assert deadline.was_kept(ending, limit_seconds) == was_kept


def test_a_limit_has_passed_when_nothing_of_it_remains() -> None:
    began = datetime.now(UTC) - timedelta(seconds=100)
    limit = deadline.passed_limit(_work(started_at=began), -40.0)
    assert limit == pytest.approx(60.0, abs=5.0)
    assert deadline.passed_limit(_work(started_at=began), 1.0) is None
    assert deadline.passed_limit(_work(started_at=began), None) is None
    assert deadline.passed_limit(_work(), -40.0) is None
    assert deadline.passed_limit(_work(started_at=began, reboots=True), -40.0) is None


def _work(**fields: Any) -> run_spec.Work:
    return work_of(key_of("w-0"), action(**fields), FakeRuntime(FakeWorld()), Files())


@pytest.mark.parametrize(("limit_seconds", "state"), [(2, State.TIMEOUT), (90, State.FAILED)])
async def test_a_successor_tells_a_kill_at_the_deadline_from_another_one(
    stage: Stage, limit_seconds: int, state: State
) -> None:
    clock = stage.server.clock
    clock.run(1.0)
    async with stage.provisioner():
        stage.server.add_workflow("w", action(timeout_seconds=limit_seconds))
        run = await stage.run_of("w-0")
    await run.exit(KILLED)
    stage.server.takes_questions.clear()
    # The clocks of the server and of this machine agree.
    clock.advance((datetime.now(UTC) - clock.now()).total_seconds())
    (row,) = stage.server.rows["w"]
    stage.server.put(replace(row, started_at=clock.now() - timedelta(seconds=100)))
    async with stage.provisioner():
        await stage.reaches("w", state)
        await stage.is_clear()
