"""Whether a plan still says what is found when it is applied."""

import pytest

from tinkwell.core.release.preview import applying
from tinkwell.core.release.preview.model import Mark, PlannedAction, PreviewNode

A, B = PlannedAction(name="a", args=("x",)), PlannedAction(name="b", image="acme/tool")


def problem(now: list[PlannedAction], *planned: PlannedAction, mark: str = "~", path: str = "db") -> str:
    node = PreviewNode(path="db", type="t", mark=Mark(mark), actions=planned)
    return applying.problem({"db": node}, path, now)


@pytest.mark.parametrize(
    ("now", "planned"),
    [
        ([A, B], [A, B]),
        ([B, A], [A, B]),
        ([B], [A, B]),
        ([], [A]),
        ([], []),
        ([A, A], [A, B, A]),
        # What is only said of an action may differ.
        ([PlannedAction(name="a", args=("x",), description="new")], [A]),
    ],
)
def test_the_planned_actions_or_fewer_are_as_planned(now: list[PlannedAction], planned: list[PlannedAction]) -> None:
    assert problem(now, *planned) == ""


@pytest.mark.parametrize(
    ("now", "planned", "named"),
    [
        ([A], [], "the action a (x)"),
        ([A, B], [A], "the action b (acme/tool)"),
        ([A, A], [A], "the action a (x)"),
        ([PlannedAction(name="a", args=("y",))], [A], "the action a (y)"),
        ([PlannedAction(name="a")], [A], "the action a now"),
        ([A, B], [], "the actions a (x), b (acme/tool)"),
    ],
)
def test_what_is_new_is_named(now: list[PlannedAction], planned: list[PlannedAction], named: str) -> None:
    assert named in problem(now, *planned)
    assert problem(now, *planned).endswith("which the plan does not have; make a new plan")
    assert applying.is_problem(problem(now, *planned))


def test_what_is_decided_at_run_may_list_anything_and_what_is_not_in_the_plan_nothing() -> None:
    assert problem([A, B], mark="?") == ""
    assert problem([A], mark="?", path="other") != ""
    assert problem([], path="other") == ""
