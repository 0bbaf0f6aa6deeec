"""No secret that goes through scripts, hooks, plans, tests and explanations is anywhere but where it is to be."""

import base64
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from integration.canary import scene as place
from integration.canary.conftest import Cage

from support import canary
from support.chart_stage import chart

pytestmark = pytest.mark.timeout(300)

# What scripts say of a secret, in each way in which they can.
SAYING = r"""
local function say(values, context, event)
  local secret, longer = values.password, event .. " with <" .. values.password .. ">"
  print(secret, longer)
  print(json.encode({secret, {[secret] = longer}}), yaml.encode({key = longer}))
  print((secret:gsub("[^%w-]", function (c) return string.format("%%%02X", c:byte()) end)))
  log.warning("\xff" .. longer .. ("x"):rep(5000) .. secret)
  if event == "pre-test" then
    for size = 4070, 4095 do print(("y"):rep(size) .. secret) end
  end
  context.state.secrets = {longer, values.token}
  values.dropped, context[secret] = secret, secret
end
"""
# Each event is heard, and one that may change something does.
HEARING = r"""
function init(events)
  for _, event in ipairs({
    "chart-loaded", "pre-render", "post-render", "pre-validate", "post-validate", "pre-install", "post-install", "wait",
    "ready", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "pre-delete", "post-delete", "pre-test",
    "post-test", "failed-test",
  }) do
    events.on(event, 0, function (name, namespace, chart, values, manifest, context) say(values, context, event) end)
  end
  events.on("pre-render", 0.5, function (name, namespace, chart, values, manifest, context)
    values.twin = {["in"] = {"the twin of " .. values.password}}
    local config = {seed = values.seed, token = "{{ values.token }}", written = values.password}
    local third = {type = values.image, config = config, dependencies = {one = "first"}}
    context.templates["third.yaml"] = yaml.encode({resources = {third = third}})
    context.templates["NOTES.txt"] = context.templates["NOTES.txt"] .. values.password
  end)
  events.on("post-render", 0.5, function (name, namespace, chart, values, manifest, context)
    context.objects.second.config.password = context.state.secrets[1]
    manifest.outputs.told = {values.password, values.twin}
  end)
  events.on("pre-install", 0.5, function (name, namespace, chart, values, manifest, context)
    if values.fails then error(("z"):rep(values.fails) .. values.password .. values.password) end
  end)
  for _, event in ipairs({"ready", "failed-test"}) do
    events.on(event, 0.5, function (name, namespace, chart, values, manifest, context)
      error("it is " .. json.encode({manifest.resources.second.config, context.state}))
    end)
  end
end
"""


class Scene(place.Scene):
    """A release of a chart with a script that takes its secrets everywhere, and hooks that are given them."""

    # What the secret value `password` is told as; in one test it is none.
    secretly = "--set-secret"

    @property
    def folder(self) -> str:
        """The folder of the chart, which is written."""
        folder = self.cage.path / "shop"
        for name, text in self.chart().items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(folder)

    @property
    def given(self) -> tuple[str, ...]:
        """The options that give values."""
        token = self.cage.path / "token"
        token.write_text(self.secret("token"))
        password = (self.secretly, f"password={self.secret('password')}")
        return (*password, "--set-secret-file", f"token={token}", "--set", f"image={place.IMAGE}")

    def chart(self) -> dict[str, str]:
        resources = {
            "first": self.resource("first", url="https://{{ values.twin['in'][0] }}@host"),
            "second": self.resource("second", upstream="{{ one.state.is }}") | {"dependencies": {"one": "first"}},
            "before": self.resource("before", password="{{ values.password }}")
            | {"hook": {"events": ["pre-install", "pre-upgrade"]}},
            "check": self.resource("check", password="{{ values.twin['in'] }}", fails=True)
            | {"hook": {"events": ["test"]}},
        }
        found = chart("shop", resources)
        return found | {
            "values.yaml": json.dumps({"seed": self.secret("third")[::-1]}),
            "ext/lua/init.lua": SAYING + HEARING,
            "templates/NOTES.txt": "{{ values.twin['in'][0] }} & {{ values.token }} ",
            "templates/plugs.yaml": json.dumps({"plugs": {"files": {"path": str(self.files)}}}),
        }

    def resource(self, name: str, **config: Any) -> dict[str, Any]:
        return {"type": place.IMAGE, "config": {"seed": self.secret(name)[::-1], **config}}

    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        password, token = self.secret("password"), self.secret("token")
        configs: dict[str, dict[str, Any]] = {
            "first": {"url": f"https://the twin of {password}@host"},
            "second": {"upstream": f"made with {self.secret('first')}", "password": f"post-render with <{password}>"},
            "third": {"token": token, "written": password},
            "before": {"password": password},
            "check": {"password": [f"the twin of {password}"], "fails": True},
        }
        return {name: {"seed": self.secret(name)[::-1], **config} for name, config in configs.items()}


@pytest.fixture
async def scene(cage: Cage, database_url: str) -> AsyncIterator[Scene]:
    """On one runtime: what calls of the other show and leave is held where secrets are a manifest's own."""
    async with place.opened(Scene, "process", cage, database_url) as scene:
        yield scene


async def test_secrets_that_scripts_take_everywhere_are_with_their_resources_alone(scene: Scene) -> None:
    chosen = (scene.folder, *scene.given)
    async with (
        scene.served(),
        scene.running("events", "watch", "--from-revision", "1", "-o", "jsonl") as watcher,
        scene.provisioner() as provisioner,
    ):
        told = await planned_and_failed(scene, chosen)
        go = scene.hold("third", "make")
        async with scene.running("release", "install", "shop", *chosen) as install:
            await scene.has_begun("third", "make", install)
            await scene.nothing_is_kept()
            await scene.ok("release", "status", "shop")
            await scene.ok("release", "explain", "shop", "values")
            await scene.ok("release", "explain", "shop", "third", "-o", "json")
            go()
            assert await install.wait(deadline_seconds=120) == 0, install.output
        for name in ("before", "first", "second", "third"):
            assert scene.told(name)[-3:] == scene.expected(name, "state", "make", "state"), name
        (scene.files / "second.made").unlink()
        await scene.ok("release", "drift", "shop")
        told["drift"] = await scene.ok("release", "drift", "shop", "-o", "json")
        other = ("--set-secret", f"password={scene.secret('other')}")
        told["upgrade"] = await scene.ok("release", "upgrade", "shop", *chosen, *other, "--dry-run")
        told["test"] = await fails(scene, "release", "test", "shop")
        told["events of a test"] = await scene.ok("release", "events", "shop", "-o", "json")
        told["logs of a test"] = await scene.ok("release", "logs", "shop")
        await scene.ok("release", "get", "all", "shop")
        await scene.ok("release", "uninstall", "shop")
        await watcher.line('"release.uninstalled"')
        await scene.nothing_is_kept()
        log = provisioner.output
    # What is shown has masks, so that it was there to be seen.
    assert [name for name, text in told.items() if "•••" not in text.replace("\\u2022", "•")] == []
    assert log.count("a script says") > 100
    assert log.count("•••") > 100
    assert scene.cage.escaped == []
    assert await scene.dumped() == []
    assert await scene.written() == []


async def planned_and_failed(scene: Scene, chosen: tuple[str, ...]) -> dict[str, str]:
    """Plan it, and have its installation fail with messages that are cut where a secret is; returns what is told."""
    await scene.ok("release", "plan", "shop", *chosen)
    told = {"plan": await scene.ok("release", "plan", "shop", *chosen, "-o", "json")}
    # By what stores messages, and by what makes them.
    for size, form in ((880, "table"), (1_950, "json")):
        await fails(scene, "release", "install", "shop", *chosen, "--set", f"fails={size}")
        await scene.ok("release", "explain", "shop", "-o", form)
        events = await scene.ok("release", "events", "shop", "-o", form)
        told.setdefault("events", events)
    return told


async def fails(scene: Scene, *words: str) -> str:
    code, output = await scene.cage.run(*words, TINKWELL_SERVER=scene.server)
    assert code == 1, output
    return output


async def test_what_is_not_named_as_secret_is_found_wherever_it_gets_to(scene: Scene) -> None:
    scene.secretly = "--set-string"
    chosen = (scene.folder, *scene.given)
    async with scene.served(), scene.provisioner() as provisioner:
        await scene.ok("release", "plan", "shop", *chosen)
        assert canary.lines_with(await fails(scene, "release", "install", "shop", *chosen, "--set", "fails=1"))
        values = await scene.ok("release", "get", "values", "shop", "--revision", "1")
        events = await scene.ok("release", "events", "shop")
        leak = scene.state_dir / "leak"
        leak.write_bytes(base64.b64encode(f"x{scene.secret('token')}".encode()))
        assert canary.files_with(scene.state_dir, scene.mark, since=scene.since) == [str(leak)]
        log = provisioner.output
    assert [bool(canary.lines_with(text)) for text in (values, events, log)] == [True, True, True]
    assert len(scene.cage.escaped) > 10
    assert await scene.dumped() != []
    assert await scene.written() != []
