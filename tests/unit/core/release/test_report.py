"""What the messages of steps and nodes tell of how they ended."""

import pytest

from tinkwell.core.event.kinds import State
from tinkwell.core.release import report
from tinkwell.core.release.kinds import NodeState

LOST = f"{report.STEP_LOST}: its owner died"


@pytest.mark.parametrize(
    ("state", "message", "is_lost"),
    [
        (State.FAILED, LOST, True),
        (NodeState.FAILED, LOST, True),
        (State.FAILED, "exited with code 3", False),
        (State.FAILED, f"it says {LOST}", False),
        (State.FAILED, "", False),
        # One that is begun anew has its message until it has ended.
        (State.RUNNING, LOST, False),
        (NodeState.INSTALLING, LOST, False),
        (State.CANCELLED, LOST, False),
    ],
)
def test_lost_is_what_failed_by_the_death_of_its_owner(state: State | NodeState, message: str, is_lost: bool) -> None:
    assert report.is_lost(state=state, message=message) is is_lost


def test_a_config_that_its_image_does_not_take_is_told_from_other_failures() -> None:
    message = report.wrong_config("acme/db:1", "resources.db.config.size: is no number")
    assert message == "its config is not what acme/db:1 takes: resources.db.config.size: is no number"
    assert report.is_wrong_config(message)
    assert not report.is_wrong_config(f"db: {message}")
