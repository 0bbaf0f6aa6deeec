"""No secret of a chart is anywhere but where it is to be, however it got there: by values, schemas, inputs, outputs."""

import contextlib
import json
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from integration.canary import scene as place
from integration.canary.conftest import Cage

from support.chart_stage import chart
from support.process import Process

pytestmark = pytest.mark.timeout(300)

SCHEMA = json.dumps({"properties": {name: {"type": "string", "writeOnly": True} for name in ("password", "pin")}})
NOTES = "{{ release.name }} opens with {{ values.store.password }} and {{ values.global.token }}."


class Scene(place.Scene):
    """A release of a chart `shop`, with `store` and `pages`, which has `inner`: each of the three has a resource.

    A schema marks a value that is given in a file, and one that the chart itself has. What a resource makes goes by
    outputs and inputs from `store` to `pages`, on to `inner`, and back.
    """

    user = "bob"

    def install(self) -> contextlib.AbstractAsyncContextManager[Process]:
        """Install it by the command line, with secrets in all that is said."""
        self.write()
        said = ("--description", f"with {self.secret('password')}", "--reason", f"for {self.secret('token')}")
        return self.running("release", "install", "shop", str(self.folder), *self.given(), *said)

    @property
    def folder(self) -> Path:
        """The folder of the chart."""
        return self.cage.path / "shop"

    def given(self) -> tuple[str, ...]:
        """The options that give values."""
        key = f"pages.inner.key={self.cage.path / 'key'}"
        values = ("--values", str(self.cage.path / "values.yaml"), "--set", "store.user=bob")
        return (*values, "--set-secret", f"global.token={self.secret('token')}", "--set-secret-file", key)

    def write(self) -> None:
        """Write the chart, and the files of values."""
        (self.cage.path / "values.yaml").write_text(json.dumps({"store": {"password": self.secret("password")}}))
        (self.cage.path / "key").write_text(self.secret("key"))
        for name, text in self.chart().items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def chart(self) -> dict[str, str]:
        store = chart(
            "store",
            self.resource(
                "first",
                password="{{ values.password }}",
                url="postgresql://{{ values.user }}:{{ values.password }}@db/{{ values.user }}",
                pin="{{ values.pin }}",
            ),
            outputs={
                "generated": "{{ first.state.generated }}",
                "mixed": "{{ first.state.is }} & {{ values.password }}",
            },
        )
        store |= {"values.yaml": json.dumps({"pin": self.secret("pin")}), "values.schema.json": SCHEMA}
        second = self.resource("second", upstream="{{ inputs.upstream }}", keys=["{{ values.key }}"])
        inner = chart("inner", second, outputs={"generated": "{{ second.state.generated }}"})
        third = self.resource(
            "third",
            inner="<{{ subcharts.inner.outputs.generated }}>",
            mixed="{{ inputs.mixed }}",
            token="Bearer {{ values.global.token }}",
            fails="{{ values.fails }}",
        )
        pages = chart(
            "pages",
            third,
            subcharts={"inner": inner | self.plugs()},
            dependencies={"inner": {"inputs": {"upstream": "it is {{ inputs.upstream }}, really"}}},
            waits_for=("inner",),
        )
        pages["values.yaml"] = json.dumps({"fails": True})
        given = {"upstream": "{{ subcharts.store.outputs.generated }}", "mixed": "{{ subcharts.store.outputs.mixed }}!"}
        files = chart(
            "shop",
            {},
            subcharts={"store": store | self.plugs(), "pages": pages | self.plugs()},
            dependencies={"pages": {"depends-on": ["store"], "inputs": given}},
        )
        return files | {"templates/NOTES.txt": NOTES}

    def resource(self, name: str, **config: Any) -> dict[str, Any]:
        return {name: {"type": place.IMAGE, "config": {"seed": self.secret(name)[::-1], **config}}}

    def plugs(self) -> dict[str, str]:
        return {"templates/plugs.yaml": json.dumps({"plugs": {"files": {"path": str(self.cage.path / "files")}}})}

    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        password, made = self.secret("password"), self.secret("first")
        configs: dict[str, dict[str, Any]] = {
            "first": {
                "password": password,
                "url": f"postgresql://{self.user}:{password}@db/{self.user}",
                "pin": self.secret("pin"),
            },
            "second": {"upstream": f"it is {made}, really", "keys": [self.secret("key")]},
            "third": {
                "inner": f"<{self.secret('second')}>",
                "mixed": f"made with {made} & {password}!",
                "token": f"Bearer {self.secret('token')}",
                "fails": True,
            },
        }
        return {name: {"seed": self.secret(name)[::-1], **config} for name, config in configs.items()}


@pytest.fixture
async def scene(cage: Cage, database_url: str) -> AsyncIterator[Scene]:
    """On one runtime: what calls of the other show and leave is held where secrets are a manifest's own."""
    async with place.opened(Scene, "process", cage, database_url) as scene:
        yield scene


async def test_secrets_of_charts_are_with_their_resources_alone_also_after_a_takeover(scene: Scene) -> None:
    release_action = scene.hold("second", "make")
    async with (
        scene.served(),
        scene.running("events", "watch", "--from-revision", "1", "-o", "jsonl") as watcher,
        scene.provisioner() as first,
        scene.install() as install,
    ):
        await scene.has_begun("second", "make", install)
        await scene.nothing_is_kept()
        await first.stop(signal.SIGKILL)
        async with scene.provisioner():
            release_action()
            assert await install.wait(deadline_seconds=120) == 1, install.output
            await watcher.line('"operation.failed"')
            # All have got the true values, the one owner's calls and the other's.
            assert scene.told("first") == scene.expected("first", "state", "make", "state")
            assert scene.told("second") == scene.expected("second", "state", "make", "state")
            assert scene.told("third") == scene.expected("third", "state", "make")
            assert "third failed at action make (exit 7)" in await scene.ok("release", "status", "shop")

            # What was given in secret stays so where it is taken over into another revision.
            installed = await scene.ok(
                "release", "install", "shop", str(scene.folder), *scene.given(), "--set", "pages.fails=false"
            )
            scene.user = "eve"
            await scene.ok("release", "upgrade", "shop", str(scene.folder), "--reuse-values", "--set", "store.user=eve")
            assert scene.told("first")[-1:] == scene.expected("first", "state")
            await scene.ok("release", "rollback", "shop")
            await scene.nothing_is_kept()
            printed = await everything_shown(scene)
    # What is shown has masks, so that it was there to be seen.
    assert "I was given •••" in printed
    assert "•••" in installed
    assert scene.cage.escaped == []
    assert await scene.dumped() == []
    assert await scene.written() == []


async def everything_shown(scene: Scene) -> str:
    """Look at the release in every way that there is; returns what its calls have printed."""
    for part in ("all", "manifest", "values", "notes", "files", "plan"):
        await scene.ok("release", "get", part, "shop", "-o", "yaml")
    await scene.ok("release", "get", "all", "shop", "--revision", "1")
    values = await scene.ok("release", "get", "values", "shop", "--all")
    assert values.count(": null") >= 4
    for words in (("list",), ("history", "shop"), ("status", "shop")):
        await scene.ok("release", *words)
    await scene.ok("release", "status", "shop", "-o", "json")
    return await scene.ok("release", "logs", "shop")
