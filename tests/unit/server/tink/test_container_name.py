"""Names of actions that a worker can give to containers."""

import re
from types import SimpleNamespace
from typing import cast

from tinkwell.core.workflow.record import Action
from tinkwell.server.tink import container_name

DOCKERS = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")


def actions(*names: str) -> list[Action]:
    """Actions by their names, as `task/name`."""
    parts = (name.partition("/") for name in names)
    return [cast("Action", SimpleNamespace(task_name=task, name=name)) for task, _, name in parts]


def test_a_name_that_docker_takes_is_told_as_it_is() -> None:
    fine = actions("t/ab", "t/a-b_c.d", "t/01", "u/ab")
    assert container_name.told(fine) == ["ab", "a-b_c.d", "01", "ab"]


def test_any_other_name_is_told_by_one_that_docker_takes_and_that_no_other_has() -> None:
    given = actions("t/a", "t/action-a", "t/ä", "t/ö", "t/_", "t/two words", "t/.hidden", "t/" + "x" * 198 + " ", "u/a")
    told = container_name.told(given)
    assert told[:3] == ["action-a_", "action-a", "action-_"]
    assert all(map(DOCKERS.fullmatch, told))
    assert len({(action.task_name, name) for action, name in zip(given, told, strict=True)}) == len(given)


def test_an_action_is_found_by_its_name_and_by_the_one_that_it_was_told_by() -> None:
    given = actions("t/action-a", "t/a", "u/a")
    assert container_name.find(given, "t", "action-a") is given[0]
    assert container_name.find(given, "t", "action-a_") is given[1]
    assert container_name.find(given, "t", "a") is given[1]
    assert container_name.find(given, "u", "action-a") is given[2]
    assert container_name.find(given, "u", "b") is None
