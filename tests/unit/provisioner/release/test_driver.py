"""Operations are brought to their end: by a server, a runtime and images in memory."""

from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage

from tinkwell.core.event.kinds import State

TWO = """
    resources:
      disk: {type: acme/disk:1, config: {size: 3}}
      db: {type: acme/db:1, dependencies: {disk: disk}, config: {on: "{{ disk.state.size }}"}}
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_resources_are_installed_in_order_and_what_one_says_of_itself_reaches_the_next(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await stage.apply(TWO)
        await stage.ends(operation_id)
        await stage.is_clear()
    assert stage.images.journal == [
        *[("disk", "init"), ("db", "init")],
        *[("disk", "state"), ("disk", "create"), ("disk", "state")],
        *[("db", "state"), ("db", "create"), ("db", "state")],
    ]
    assert stage.resources()["db"].config == {"on": 3}


async def test_an_unchanged_release_asks_for_states_alone(stage: Stage) -> None:
    async with stage.provisioner():
        await stage.ends(await stage.apply(TWO))
        stage.images.journal.clear()
        operation = await stage.ends(await stage.apply(TWO))
    assert stage.images.journal == [("disk", "state"), ("db", "state")]
    assert (operation.revision, operation.changed_nodes) == (1, 0)


async def test_a_failing_action_ends_the_operation_and_lets_nothing_more_begin(stage: Stage) -> None:
    stage.images.thing("disk", actions=("one", "two", "three"), exits={"two": 7})
    async with stage.provisioner():
        operation = await stage.ends(await stage.apply(TWO), State.FAILED)
        await stage.is_clear()
    assert stage.images.calls("disk") == ["init", "state", "one", "two"]
    assert stage.images.calls("db") == ["init"]
    assert operation.cause is not None
    assert operation.cause["path"] == "disk"
    assert "action two FAILED (exit 7)" in operation.cause["message"]
