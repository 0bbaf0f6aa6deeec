"""No secret of a release is anywhere but where it is to be: whole processes, a database, and images that tell all."""

import contextlib
import json
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from integration.canary import scene as place
from integration.canary.conftest import Cage

from support import canary
from support.process import Process

pytestmark = pytest.mark.timeout(300)


class Scene(place.Scene):
    """A release of three resources, each of which has secrets."""

    def apply(self) -> contextlib.AbstractAsyncContextManager[Process]:
        """Apply the manifest by the command line, with secrets in it, in files, and in what it is said to be about."""
        (self.cage.path / "shop.yaml").write_text(json.dumps(self.manifest()))
        for name in ("password", "key"):
            (self.cage.path / name).write_text(self.secret(name))
        secrets = (f"--secret-var-file={name}={self.cage.path / name}" for name in ("password", "key"))
        said = ("--description", f"with {self.secret('password')}", "--reason", f"for {self.secret('key')}")
        return self.running(
            "release", "apply", "shop", str(self.cage.path / "shop.yaml"), "--var", "user=bob", *secrets, *said
        )

    def manifest(self) -> dict[str, Any]:
        backwards = {name: self.secret(name)[::-1] for name in ("first", "second", "third")}
        configs: dict[str, dict[str, Any]] = {
            "first": {"password": "{{ password }}", "url": "postgresql://{{ user }}:{{ password }}@db/{{ user }}"},
            "second": {"upstream": "it is {{ one.state.generated }}, really", "pin": self.secret("pin")},
            "third": {"keys": ["{{ key }}", "--key={{ key }}"], "fails": True},
        }
        resources: dict[str, dict[str, Any]] = {
            name: {"type": place.IMAGE, "config": {"seed": backwards[name], **config}}
            for name, config in configs.items()
        }
        resources["second"] |= {"dependencies": {"one": "first"}, "sensitive": ["/pin"]}
        resources["third"] |= {"dependencies": {"two": "second"}}
        return {"plugs": {"files": {"path": str(self.files)}}, "resources": resources}

    def configs(self) -> dict[str, dict[str, Any]]:
        """The configs of the resources as they are when all is evaluated."""
        password, key = self.secret("password"), self.secret("key")
        seeds = {name: found["config"]["seed"] for name, found in self.manifest()["resources"].items()}
        return {
            "first": {"seed": seeds["first"], "password": password, "url": f"postgresql://bob:{password}@db/bob"},
            "second": {
                "seed": seeds["second"],
                "upstream": f"it is {self.secret('first')}, really",
                "pin": self.secret("pin"),
            },
            "third": {"seed": seeds["third"], "keys": [key, f"--key={key}"], "fails": True},
        }


@pytest.fixture(params=place.RUNTIMES)
async def scene(request: pytest.FixtureRequest, cage: Cage, database_url: str) -> AsyncIterator[Scene]:
    async with place.opened(Scene, request.param, cage, database_url) as scene:
        yield scene


async def test_secrets_are_nowhere_but_with_the_resources_also_after_a_takeover(scene: Scene) -> None:
    release_state, release_action = scene.hold("first", "state"), scene.hold("first", "make")
    async with scene.served(), scene.running("events", "watch", "--from-revision", "1", "-o", "jsonl") as watcher:
        async with scene.provisioner() as first, scene.apply() as apply:
            await scene.has_begun("first", "state", apply)
            shown = scene.engine.shown() if scene.engine is not None else {}
            release_state()
            await scene.has_begun("first", "make", apply)
            shown |= scene.engine.shown() if scene.engine is not None else {}
            await scene.nothing_is_kept()
            await first.stop(signal.SIGKILL)
            async with scene.provisioner():
                release_action()
                assert await apply.wait(deadline_seconds=120) == 1
                await watcher.line('"operation.failed"')
                await scene.nothing_is_kept()
        printed = await everything_shown(scene)
    assert len(shown) == (0 if scene.engine is None else 2)
    assert [canary.lines_with(text) for text in shown.values()] == [[]] * len(shown)
    # All have got the true values, the one owner's calls and the other's.
    assert scene.told("first") == scene.expected("first", "state", "make", "state")
    assert scene.told("second") == scene.expected("second", "state", "make", "state")
    assert scene.told("third") == scene.expected("third", "state", "make")
    # What is shown has masks, so that it was there to be seen.
    assert "I was given •••" in printed["logs"]
    assert "in a URL https://host/?q=•••&r=•••" in printed["logs"]
    assert "third failed at action make (exit 7)" in printed["status"]
    assert scene.cage.escaped == []
    assert await scene.dumped() == []
    assert await scene.written() == []


async def everything_shown(scene: Scene) -> dict[str, str]:
    """Look at the release in every way that there is; returns the output of some."""
    for part in ("all", "manifest", "variables", "files", "plan"):
        await scene.ok("release", "get", part, "shop", "--revision", "1", "-o", "yaml")
    for words in (("list",), ("history", "shop"), ("status", "shop"), ("logs", "shop")):
        form = "jsonl" if words[0] == "logs" else "json"
        await scene.ok("release", *words, "-o", form)
    await scene.ok("release", "list")
    await scene.ok("release", "history", "shop")
    return {"logs": await scene.ok("release", "logs", "shop"), "status": await scene.ok("release", "status", "shop")}
