"""Charts whose scripts do what none should do, in the whole product: each fails with one clear error, or harms nothing.

A good chart beside them is brought about again and again meanwhile, calls are answered, and no process dies. What a
script can do to its child process alone the tests of that child have.
"""

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from support.chart_stage import Files, chart, packed, thing
from support.chart_story import tinkwell
from support.release_stage import SECONDS, Stage
from tinkwell.client import OperationHandle
from tinkwell.core.event.kinds import State

pytestmark = pytest.mark.timeout(240)

SECRET = f"{uuid.uuid4().hex}é+/&{uuid.uuid4().hex}"
# What is left of a secret that was cut, or of which some characters were replaced.
TOKEN = uuid.uuid4().hex
PIECES = {secret[at : at + 8] for secret in (SECRET, TOKEN) for at in range(len(secret) - 8)}
AT_ONCE = 4
PLACE = r"ext/lua/init\.lua:\d+: "


def on(event: str, body: str) -> str:
    handler = f"function (name, namespace, chart, values, manifest, context)\n{body}\nend"
    return f'function init(events)\nevents.on("{event}", 0.5, {handler})\nend'


@dataclass(frozen=True)
class Poison:
    """A script, and what the operation comes to: a pattern for its error, or None. Without `installs` it is planned."""

    script: str
    error: str | None = None
    installs: bool = False
    files: Mapping[str, str] = field(default_factory=dict)


def rendering(event: str, body: str, error: str | None) -> Poison:
    return Poison(on(event, body), error and f"{PLACE}the handler of {event} for .* failed: .*{error}")


def installing(event: str, body: str, error: str | None) -> Poison:
    return Poison(on(event, body), error and f"^{PLACE}the handler of {event} for .* failed: {error}", installs=True)


LONG = "a" * 240
POISONS = {
    # While scripts load.
    "handlers": Poison(
        "function init(events) for n = 1, 1e5 do events.on('ready', 0, print) end end",
        f"{PLACE}there are more than 1000",
    ),
    "event": Poison(
        "function init(events) events.on('ready\\27[2J\\n\\0', 0, print) end",
        PLACE + re.escape('"ready\\u001b[2J\\u000a\\u0000" is no event that handlers hear; did you mean ready?'),
    ),
    "weight": Poison(
        "function init(events) events.on('ready', 0/0, print) end", f"{PLACE}events.on takes a weight from 0"
    ),
    "loop": Poison("while true do end", f"{PLACE}needs more than 10 million instructions"),
    "coroutine": Poison("coroutine.wrap(function () end)()", f"{PLACE}there is no coroutine in scripts"),
    "require": Poison(
        "require('lib.a')",
        r"ext/lua/lib/[ab]\.lua requires itself, by way of others",
        files={"ext/lua/lib/a.lua": "require('lib.b')", "ext/lua/lib/b.lua": "require('lib.a')"},
    ),
    # While there is nothing yet.
    "nul": rendering("pre-render", "fail('a\\0b')", r"a\\0b"),
    "table": rendering(
        "pre-render",
        "error(setmetatable({values.password}, {__tostring = function () return values.password end}))",
        "an error was raised that is no text but a table",
    ),
    "iterate": rendering(
        "pre-render", "for key in pairs(values) do values[key .. key] = values values[key .. key] = {} end", None
    ),
    "deep-values": Poison(
        on("pre-render", "local t = values for _ = 1, 62 do t.a = {} t = t.a end"),
        "RENDER: values: as pre-render has made it, is nested deeper than 61 levels",
    ),
    "deep-outputs": Poison(
        on("post-render", "local t = manifest.outputs for _ = 1, 61 do t.a = {} t = t.a end"),
        "manifest: .* nested deeper",
    ),
    "template": Poison(
        on("pre-render", "context.templates['all.yaml'] = 'a: [' .. values.password .. '\\n : - {'"),
        r"templates/all\.yaml: line 2, column 2: not YAML",
    ),
    "expression": Poison(
        on(
            "pre-render",
            "context.templates['all.yaml'] = [[resources: {a: {type: thing, config: {x: \"{{ 'x' * 10 ** 9 }}\"}}}]]",
        ),
        r"templates/all\.yaml\.resources\.a\.config\.x: ",
    ),
    "member": Poison(
        on(
            "pre-render",
            "context.templates['all.yaml'] = 'resources: {a: {type: thing, config: {x: \"{{ values[\\'' .. "
            "('k'):rep(160) .. values.password .. '\\'] }}\"}}}'",
        ),
        r"templates/all\.yaml\.resources\.a\.config\.x: .* there is no k+•••… in it",
    ),
    "names": rendering(
        "pre-validate",
        "for n = 1, 100 do context.objects[('😀'):rep(50) .. n] = {type = 'thing'} end",
        'resources."😀+[^ ]+ "😀+[^ ]+ is not the path of a resource',
    ),
    "key": rendering(
        "post-render",
        "manifest.resources.a.config[('k'):rep(20) .. values.password] = print",
        r'manifest\.resources\.a\.config\["k+•••…"\]: a function cannot be written as JSON',
    ),
    "type": Poison(
        on("post-render", "manifest.resources.a.type = 'thing/' .. values.token"),
        "type: holds a secret, and would show it",
    ),
    "cycle": Poison(
        on(
            "post-render",
            "context.objects.b = {type = 'thing', config = {}, dependencies = {a = 'a'}}\n"
            "context.objects.a.dependencies = {b = 'b'}",
        ),
        "resources: depend on each other in a loop: cycle:a → cycle:b → cycle:a",
    ),
    "hook": rendering(
        "post-validate", "manifest.resources.a.hook = {events = {'ready\\27[2J'}, weight = 0.5}", r"resources\.a\.hook"
    ),
    "plug": Poison(on("post-render", "manifest.plugs = {x = {path = '/proc'}}"), '"/proc" is not granted here'),
    "itself": rendering("post-render", "manifest.resources.a.config.x = manifest", "a table contains itself"),
    "metatable": rendering(
        "post-render",
        "local spin = function () while true do end end\n"
        "setmetatable(manifest.resources, {__index = spin, __pairs = spin, __len = spin, __newindex = spin})",
        None,
    ),
    # When something is installed.
    "markers": installing(
        "post-install",
        'if json.encode(manifest.resources.a.config.marks) ~= \'{"$expr":"{{ 7 * 7 }}","$secret":"/password"}\' '
        "then fail(json.encode(manifest.resources.a.config)) end",
        None,
    ),
    "nul-later": installing("pre-install", "fail('a\\0b')", r"a\\0b"),
    "escapes": installing("pre-install", "fail('\\27[2J\\r\\nERROR all is lost')", "\x1b"),
    "cut": installing("pre-install", "fail(('x'):rep(900) .. values.password .. ('y'):rep(3000))", "x{900}•••…$"),
    "bytes": installing(
        "pre-install", "print('\\xff' .. values.password) fail('\\xff' .. values.password)", r"\?•••\n"
    ),
    "cut-line": installing(
        "pre-install", "for n = 20, 60 do print(('x'):rep(4096 - n) .. values.password) end fail('printed')", "printed"
    ),
    "flood": installing("ready", "for n = 1, 2000 do print(('x'):rep(500)) end", None),
    "pattern": installing("wait", "string.find(('a'):rep(40000), '.-.-.-.-b')", r"needs more than [\d.]+ s"),
    "memory": installing("post-install", "local t = {} while true do t = {t} end", "needs more memory"),
    "long-file": Poison(
        f"require('lib.{LONG}.{LONG}')",
        f"ext/lua/lib/{LONG}/{LONG}.lua:3: the handler of pre-install",
        installs=True,
        files={f"ext/lua/lib/{LONG}/{LONG}.lua": on("pre-install", "fail('no')")},
    ),
}


def shop(name: str, poison: Poison) -> Files:
    """Give a chart with the script, and one resource of which a config has what others take for marks."""
    marks = {"$expr": "{{ '{{ 7 * 7 }}' }}", "$secret": "/password"}
    own = {"a": thing(f"{name}-a", "{{ values.password }}", marks=marks)}
    return chart(name, own, outputs={}) | {"ext/lua/init.lua": poison.script} | dict(poison.files)


def deep() -> Files:
    """Give charts in charts, whose paths are as long as they may be, and a handler in the last."""
    found = chart("deepest", {}) | {"ext/lua/init.lua": on("post-install", "fail('far below')")}
    for number in range(8):
        below = json.loads(found["Chart.yaml"])["name"]
        found = chart(f"{number}" * 50, {}, subcharts={below: found})
    return found


async def begin(stage: Stage, name: str, files: Files, *, installs: bool) -> OperationHandle:
    values = {"global": {"folder": str(stage.folder)}, "text": "text", "password": SECRET, "token": TOKEN}
    call = stage.client.releases.install if installs else stage.client.releases.plan
    return await call(name, chart=packed(files), values=values, secret_values=["/password", "/token"])


@dataclass
class Beside:
    """What goes on beside the poisoned charts."""

    answers: int = 0
    upgrades: int = 0

    async def ask(self, stage: Stage) -> None:
        """Ask again and again, with a deadline for each answer."""
        while True:
            async with asyncio.timeout(SECONDS):
                await stage.client.releases.get("good")
            self.answers += 1
            await asyncio.sleep(0.05)

    async def upgrade(self, stage: Stage) -> None:
        """Upgrade a good chart, which has a script as well, again and again."""
        while True:
            self.upgrades += 1
            script = on("pre-render", f"values.text = 'number {self.upgrades}'")
            files = chart("good", {"good": thing("good", "{{ values.text }}")}) | {"ext/lua/init.lua": script}
            call = stage.client.releases.upgrade if self.upgrades > 1 else stage.client.releases.install
            values = {"global": {"folder": str(stage.folder)}}
            await stage.ends((await call("good", packed(files), values=values)).id)
            assert stage.content("good") == f"number {self.upgrades}"

    @contextlib.asynccontextmanager
    async def going_on(self, stage: Stage) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self.upgrade(stage))]
        await stage.has_begun("good", "state")
        tasks.append(asyncio.create_task(self.ask(stage)))
        try:
            yield
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            for ended in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended


async def hold(stage: Stage, name: str, poison: Poison) -> None:
    """Hold what becomes of a poisoned chart to what is said of it."""
    handle = await begin(stage, name, shop(name, poison), installs=poison.installs)
    async with asyncio.timeout(SECONDS):
        ended = await stage.client.releases.wait(handle.id)
    message = str((ended.cause or {}).get("message", ""))
    told = [run.message async for run in stage.client.releases.lifecycle(handle.id)]
    explained = await stage.client.releases.explain(name, operation_id=handle.id)
    assert ended.state is (State.FAILED if poison.error else State.SUCCEEDED), (name, ended.cause, told)
    assert re.search(poison.error or "^$", message, re.DOTALL), (name, message)
    assert pieces(json.dumps([message, told, str(explained)], ensure_ascii=False)) == [], name


def pieces(text: str) -> list[str]:
    """Return the pieces of the secret that a text has."""
    return [piece for piece in PIECES if piece in text]


async def test_each_poisoned_chart_fails_clearly_or_harms_nothing(stage: Stage) -> None:
    beside, vacant = Beside(), asyncio.Semaphore(AT_ONCE)

    async def held(name: str, poison: Poison) -> None:
        async with vacant:
            await hold(stage, name, poison)

    async with stage.provisioner() as provisioner:
        async with beside.going_on(stage):
            outcomes = await asyncio.gather(*(held(*each) for each in POISONS.items()), return_exceptions=True)
            failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
            assert not failed, "\n".join(map(str, failed))
            handle = await begin(stage, "deep", deep(), installs=True)
            assert "far below" in str((await stage.ends(handle.id, State.FAILED)).cause)
        shown = [await tinkwell(stage, "release", *words) for words in (["events", "escapes"], ["status", "escapes"])]
        assert provisioner.returncode is None
    assert beside.answers > len(POISONS)
    assert beside.upgrades > 2
    assert [("\x1b" in text or "\r" in text, "all is lost" in text) for _, text in shown] == [(False, True)] * 2
    log = (stage.path / "stderr").read_text()
    assert "defect" not in log
    assert "\x1b" not in log
    assert pieces(log) == []
    # The lines were there to be seen.
    assert log.count("a script says release=cut-line") == 41
    assert log.count("a script says release=flood") == 1000
