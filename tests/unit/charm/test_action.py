"""Actions of charms in Python: what a method declares, how it is run, and what comes of it."""

from typing import Any

import pytest

from tinkwell import charm
from tinkwell.charm import description
from tinkwell.charm.testing import Model
from tinkwell.core import errors


class Store(charm.Charm):
    """Keeps something."""

    cluster = charm.Peer("cluster", interface="store")

    @charm.action("backup")
    async def backup(
        self,
        task: charm.Task,
        *,
        target: str,
        level: int = 1,
        ratio: float = 0.5,
        is_quick: bool = False,
        parts: list[int] | None = None,
        more: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Writes all that there is
        to a file.

        And more.
        """
        task.log(f"backup to {target}")
        self.state["target"] = target
        assert isinstance(ratio, float)
        return {"target": target, "level": level, "ratio": ratio, "is_quick": is_quick, "parts": parts, "more": more}

    @charm.action()
    async def say_no(self, task: charm.Task, *, how: str = "fail") -> Any:
        self.state["said"] = "no"
        match how:
            case "fail":
                task.fail("it does not want to")
                return {"why": "because"}
            case "raise":
                raise RuntimeError("it broke")
            case "defer":
                task.defer()
        return "text"

    @charm.on.update_status
    async def later(self, event: charm.UpdateStatus) -> None:
        if not event.is_again:
            event.defer()


def test_a_class_declares_its_actions() -> None:
    assert description.manifest(Store).as_json()["actions"] == {
        "backup": {
            "description": "Writes all that there is to a file.",
            "params": {
                "target": {"type": "string"},
                "level": {"type": "integer", "default": 1},
                "ratio": {"type": "number", "default": pytest.approx(0.5)},
                "is_quick": {"type": "boolean", "default": False},
                "parts": {"type": "array", "items": {"type": "integer"}},
                "more": {"type": "object"},
            },
            "required": ["target"],
            "additionalProperties": False,
        },
        "say-no": {"params": {"how": {"type": "string", "default": "fail"}}, "additionalProperties": False},
    }


async def test_an_action_is_given_its_parameters_and_returns_its_result() -> None:
    model = Model()
    model.deploy(Store)
    found = await model.run("store/0", "backup", target="/srv", level="3", ratio=2, parts=[1])
    assert (found.state, found.log) == ("SUCCEEDED", ("backup to /srv",))
    assert found.result == {
        "target": "/srv",
        "level": 3,
        "ratio": 2.0,
        "is_quick": False,
        "parts": [1],
        "more": None,
    }
    assert model.state("store/0") == {"target": "/srv"}
    model.check()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("fail", "it does not want to"),
        ("raise", "RuntimeError: it broke"),
        ("defer", "CannotDefer: a task cannot be deferred: somebody waits for it"),
        ("text", "it has returned str, which is no mapping that JSON has"),
    ],
)
async def test_an_action_that_fails_leaves_nothing(how: str, message: str) -> None:
    model = Model()
    model.deploy(Store)
    found = await model.run("store/0", "say-no", how=how)
    assert (found.state, found.message) == ("FAILED", message)
    assert model.state("store/0") == {}
    assert model.events("store/0")[-1] == "start"
    model.check()


async def test_what_is_deferred_is_tried_before_a_task() -> None:
    model = Model()
    model.deploy(Store)
    await model.settle()
    model.tick("store/0")
    await model.settle()
    assert model.deferred("store/0") == ["update-status"]
    await model.run("store/0", "say-no")
    assert model.deferred("store/0") == ["update-status"]
    await model.run("store/0", "backup", target="")
    assert model.deferred("store/0") == []


async def test_a_task_is_never_run_again() -> None:
    model = Model()
    model.deploy(Store)
    await model.settle()
    model.kill("store/0")
    found = await model.run("store/0", "backup", target="")
    assert (found.state, found.message) == ("FAILED", "its agent was lost")
    model.fail_next("store/0")
    assert (await model.run("store/0", "backup", target="")).message == "the test wants it to fail"
    assert model.state("store/0") == {}


async def test_what_the_charm_does_not_declare_is_refused() -> None:
    model = Model()
    model.deploy(Store)
    with pytest.raises(errors.InvalidField, match="action: the charm has no such action; did you mean backup"):
        await model.run("store/0", "backu")
    with pytest.raises(errors.InvalidField, match=r"parameters\.target: must be given"):
        await model.run("store/0", "backup")


def test_what_cannot_be_an_action_is_refused() -> None:
    with pytest.raises(charm.DeclarationError, match="plain is an action, so it must be declared by async def"):

        @charm.action()  # type: ignore[type-var]
        def plain(self: object, task: charm.Task) -> None: ...

    with pytest.raises(charm.DeclarationError, match="with its parameters behind"):

        @charm.action()
        async def positional(self: object, task: charm.Task, target: str) -> None: ...

    with pytest.raises(charm.DeclarationError, match="the type of target must be one of str, int, float"):

        @charm.action()
        async def untyped(self: object, task: charm.Task, *, target: object) -> None: ...

    with pytest.raises(charm.DeclarationError, match="has the action a twice"):

        class Twice(charm.Charm):
            @charm.action("a")
            async def one(self, task: charm.Task) -> None: ...

            @charm.action("a")
            async def two(self, task: charm.Task) -> None: ...
