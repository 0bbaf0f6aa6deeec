"""What is said of a resource that is still STALE after its actions."""

from typing import Any

import pytest

from tinkwell.provisioner.release.call import recheck


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (None, None, "it still does not exist"),
        ({"a": 1}, None, "it does not exist"),
        (None, {"a": 1}, "it exists now; its state differs from its config at a"),
        ({"a": 1}, {"a": 1}, "they changed nothing of its state; its state differs from its config at a"),
        ({"a": 1, "b": 1}, {"a": 2, "c": 1}, "they changed a, b, c"),
    ],
)
def test_both_states_are_compared(before: Any, after: Any, said: str) -> None:
    assert recheck.explain({"a": 2}, before, after) == f"it is still STALE after its actions: {said}"


def test_only_some_of_many_differences_are_named() -> None:
    config: dict[str, Any] = {f"k{number:02}": 1 for number in range(12)}
    assert recheck.explain(config, {}, {}).endswith("k09 and 2 more")
