"""Labels: which run a container is, and that nothing else is taken for one."""

import pytest

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.runtime.docker import label

ACTION = RunKey(RunKind.WORKFLOW, "w", "a", 2)
HOOK = RunKey(RunKind.WORKFLOW, "w", "a", 2, "on-failure")
STEP = RunKey(RunKind.RELEASE, "r", "s", 1)


@pytest.mark.parametrize("key", [ACTION, HOOK, STEP])
def test_a_run_is_known_by_its_labels(key: RunKey) -> None:
    assert label.key_of(label.labels_of(key, instance="i", others={})) == key


def test_the_labels_of_a_step_are_its_release_and_itself() -> None:
    assert label.labels_of(STEP, instance="i", others={"name": "shop"}) == {
        "tinkwell.managed": "true",
        "tinkwell.instance": "i",
        "tinkwell.release": "r",
        "tinkwell.step": "s",
        "tinkwell.attempt": "1",
        "tinkwell.workflow": "",
        "tinkwell.action": "",
        "tinkwell.hook": "",
        "tinkwell.name": "shop",
    }
    assert label.container_name(STEP) == "tinkwell-s-1"
    assert label.container_name(HOOK) == "tinkwell-a-2-on-failure"


def test_other_labels_cannot_make_a_run_another_one() -> None:
    others = {"workflow": "w", "action": "a", "release": "x", "hook": "on-failure", "attempt": "7", "instance": "x"}
    assert label.key_of(label.labels_of(STEP, instance="i", others=others)) == STEP


@pytest.mark.parametrize("key", [ACTION, HOOK, STEP])
def test_the_labels_of_an_image_cannot_make_a_run_another_one(key: RunKey) -> None:
    words = ("managed", "instance", "attempt", "hook", "workflow", "action", "release", "step")
    of_image = {f"tinkwell.{word}": "7" for word in words}
    assert label.key_of(of_image | label.labels_of(key, instance="i", others={})) == key


@pytest.mark.parametrize(
    ("name", "value"), [("managed", ""), ("attempt", "first"), ("release", ""), ("step", "../s"), ("hook", "a/b")]
)
def test_labels_that_make_no_run_are_nobody_s(name: str, value: str) -> None:
    labels = label.labels_of(STEP, instance="i", others={})
    assert label.key_of(labels | {f"tinkwell.{name}": value}) is None


def test_runs_are_selected_by_what_they_are_a_part_of() -> None:
    assert label.filters({"release": "r"}) == ["tinkwell.managed=true", "tinkwell.release=r"]
