"""Charts with scripts that are installed, upgraded, rolled back and uninstalled, with all events."""

import asyncio
import json
from typing import Any

import pytest
from unit.provisioner.release.chart.releasing import files
from unit.provisioner.release.stage import Stage

from support.waiting import eventually
from tinkwell.client.release.model import LifecycleRun
from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.lifecycle_event.run import Outcome

S0 = """
    -- init is the entry point
    function init(events)
      -- events is used to register event handlers.
      events.on("pre-render", 0.5, function (name, namespace, chart, values)
          -- Accessing an object
          print("got chart " .. chart.name)
          -- Mutating an object
          values.myvalue = "My Value"
      end)
    end
"""
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
    "templates/web.yaml": "resources: {web: {type: acme/web, config: {text: '{{ values.myvalue }}'}}}\n",
    "ext/lua/init.lua": S0,
}
PREPARED = ["read-chart", "chart-loaded"]
RENDERED = ["pre-render", "render", "post-render", "pre-validate", "validate", "post-validate"]


async def install(stage: Stage, given: Any, state: State = State.SUCCEEDED, **options: Any) -> str:
    begun = await stage.operator.install("shop", archive.pack("shop", files(given)), **options)
    await stage.ends(begun.id, state)
    return begun.id


async def runs(stage: Stage, operation_id: str) -> list[LifecycleRun]:
    return [each async for each in stage.operator.lifecycle(operation_id)]


async def events(stage: Stage, operation_id: str) -> list[str]:
    return [each.event for each in await runs(stage, operation_id)]


async def config(stage: Stage, path: str) -> Any:
    """Return the config of a resource by the manifest that is stored."""
    found = await stage.operator.revision("shop")
    assert found.manifest is not None
    return found.manifest["resources"][path].get("config")


async def cause(stage: Stage, operation_id: str) -> str:
    found = (await stage.operator.operation(operation_id)).cause
    assert found is not None
    return str(found["message"])


async def test_the_events_of_a_life_are_recorded_in_their_order(stage: Stage) -> None:
    async with stage.provisioner():
        installed = await install(stage, CHART)
        second = archive.pack("shop", files(CHART | {"templates/b.yaml": "resources: {more: {type: acme/more}}"}))
        upgraded = await stage.operator.upgrade("shop", second, wait="none")
        await stage.ends(upgraded.id)
        back = await stage.operator.rollback("shop", 1)
        await stage.ends(back.id)
        gone = await stage.operator.uninstall("shop")
        await stage.ends(gone.id)
        told = [await events(stage, each) for each in (installed, upgraded.id, back.id, gone.id)]
    assert told[0] == [*PREPARED, *RENDERED, "pre-install", "install", "post-install", "wait", "ready"]
    assert told[1] == [*PREPARED, *RENDERED, "pre-upgrade", "upgrade", "post-upgrade"]
    assert told[2] == [*PREPARED, "pre-rollback", "rollback", "post-rollback", "wait", "ready"]
    assert told[3] == [*PREPARED, "pre-delete", "delete", "post-delete"]


async def test_the_script_of_the_seed_sets_a_value_that_a_manifest_shows(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, CHART)
        (pre,) = [each for each in await runs(stage, operation_id) if each.event == "pre-render"]
        revision = await stage.operator.revision("shop", with_all_values=True)
    assert await config(stage, "shop:web") == {"text": "My Value"}
    assert revision.all_values == {"myvalue": "My Value"}
    (handler,) = pre.handlers
    assert (handler.chart, handler.file, handler.line, handler.weight) == ("shop", "ext/lua/init.lua", 4, 0.5)
    assert (pre.chart, pre.outcome, handler.outcome) == ("shop", Outcome.SUCCEEDED, Outcome.SUCCEEDED)


async def test_late_expressions_know_the_changed_values_also_after_a_change_of_owner(stage: Stage) -> None:
    late = """
        resources:
          disk: {type: acme/disk, config: {zone: here}}
          web: {type: acme/web, dependencies: {d: disk}, config: {text: "{{ values.myvalue ~ d.state.zone }}"}}
    """
    stage.images.thing("web").exits["create"] = 3
    async with stage.provisioner():
        await install(stage, CHART | {"templates/web.yaml": late}, State.FAILED)
    stage.images.thing("web").exits.clear()
    async with stage.provisioner(slot=1):
        await stage.ends((await stage.operator.resume("shop")).id)
        await stage.ends((await stage.operator.rollback("shop", 1)).id)
    told = [each["config"] for each in stage.images.told if each["name"] == "web" and "config" in each]
    assert {json.dumps(each) for each in told} == {json.dumps({"text": "My Valuehere"})}


async def test_scripts_may_render_another_syntax(stage: Stage) -> None:
    given = CHART | {
        "templates/web.yaml": "",
        "templates/web.txt": "web acme/web red\nlamp acme/lamp green\n",
        "templates/_helpers.tpl": "{{ define }}",
        "ext/lua/init.lua": """
            function init(events)
              events.on("pre-render", 0, function (name, namespace, chart, values, manifest, context)
                local found = {}
                for line in context.templates["web.txt"]:gmatch("[^\\n]+") do
                  local key, image, color = line:match("(%S+) (%S+) (%S+)")
                  found[key] = {type = image, config = {color = color}}
                end
                context.templates["web.yaml"] = yaml.encode({resources = found})
                context.templates["_helpers.tpl"] = nil
              end)
            end
        """,
    }
    async with stage.provisioner():
        await install(stage, given)
    assert await config(stage, "shop:lamp") == {"color": "green"}
    assert await config(stage, "shop:web") == {"color": "red"}


async def test_a_file_that_scripts_have_left_is_refused_as_without_them(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, CHART | {"templates/_helpers.tpl": "x"}, State.FAILED)
    assert (await cause(stage, operation_id)).startswith("RENDER: templates/_helpers.tpl: holds definitions of Go")


FAMILY = CHART | {
    "Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\ndependencies: [{name: bar, version: 1.x}]\n",
    "values.yaml": "myvalue: x\nglobal: {zone: eu}\n",
    "charts/bar/Chart.yaml": "apiVersion: v2\nname: bar\nversion: 1.0.0\n",
    "charts/bar/values.yaml": "trace: start\n",
    "charts/bar/templates/a.yaml": """
        resources:
          db: {type: acme/db, config: {trace: "{{ values.trace }}", zone: "{{ values.global.zone }}"}}
    """,
    "charts/bar/ext/lua/init.lua": """
        function init(events)
          events.on("pre-render", 0.5, function (name, namespace, chart, values)
            values.trace = values.trace .. " " .. chart.name .. " last"
          end)
          events.on("chart-loaded", 0, function () end)
        end
    """,
    "ext/lua/init.lua": """
        function init(events)
          events.on("pre-render", 0.5, function (name, namespace, chart, values)
            values.bar.trace = values.bar.trace .. " parent"
          end)
          events.on("pre-render", 0, function (name, namespace, chart, values)
            values.bar.trace = "seed"
            values.global.zone = "us"
          end)
          events.on("bar:pre-render", 1, function (name, namespace, chart, values)
            values.trace = values.trace .. " of " .. chart.name
          end)
        end
    """,
}


async def test_parents_and_children_change_one_tree_of_values_in_their_order(stage: Stage) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, FAMILY)
        found = await runs(stage, operation_id)
    assert await config(stage, "shop.bar:db") == {"trace": "seed bar last parent of bar", "zone": "us"}
    assert [(each.event, each.chart) for each in found][:4] == [
        ("read-chart", "shop"),
        ("chart-loaded", "shop.bar"),
        ("chart-loaded", "shop"),
        ("pre-render", "shop"),
    ]


CHANGED = """
    function init(events)
      events.on("post-render", 0.2, function (name, namespace, chart, values, manifest, context)
        manifest.resources.web.config.text = "changed"
        context.objects.old = nil
      end)
      events.on("pre-validate", 0.2, function (name, namespace, chart, values, manifest, context)
        context.objects.new = {type = "acme/new", dependencies = {it = "web"}, config = {n = 1}}
      end)
      events.on("post-validate", 0.2, function (name, namespace, chart, values, manifest, context)
        manifest.resources.new.config.n = 2
        values.vain = 1
      end)
    end
"""


async def test_what_was_rendered_is_added_to_changed_and_dropped(stage: Stage) -> None:
    templates = "resources: {web: {type: acme/web, config: {text: x}}, old: {type: acme/old}}\n"
    async with stage.provisioner():
        await install(stage, CHART | {"templates/web.yaml": templates, "ext/lua/init.lua": CHANGED})
        revision = await stage.operator.revision("shop", with_all_values=True)
    assert await config(stage, "shop:web") == {"text": "changed"}
    assert await config(stage, "shop:new") == {"n": 2}
    assert revision.manifest is not None
    assert "shop:old" not in revision.manifest["resources"]
    assert revision.manifest["resources"]["shop:new"]["dependencies"] == {"it": "shop:web"}
    assert revision.all_values == {}
    assert stage.images.calls("old") == []
    assert stage.images.calls("new") != []


def handler(event: str, body: str) -> str:
    return f"""
        function init(events)
          events.on("{event}", 0.5, function (name, namespace, chart, values, manifest, context)
            {body}
          end)
        end
    """


@pytest.mark.parametrize(
    ("event", "body", "expected"),
    [
        (
            "pre-render",
            'fail("no size")',
            "RENDER: ext/lua/init.lua:3: the handler of pre-render for shop failed: no size",
        ),
        ("pre-render", "values.size = 'x'", "RENDER: values.size: as pre-render has made it, "),
        ("pre-render", "values = 1", None),
        ("post-render", "manifest.resources.web.type = nil", "RENDER: ext/lua/init.lua:2: the handler of post-render"),
        ("post-render", "context.objects.web.config.more = '{{ values.x }}'", None),
        ("pre-validate", "chart.name = 'x'", "VALIDATE: ext/lua/init.lua:3: the handler of pre-validate for shop"),
        ("post-validate", "error('too late')", "VALIDATE: ext/lua/init.lua:3: the handler of post-validate for shop"),
        ("chart-loaded", "fail('no')", "LOAD: ext/lua/init.lua:3: the handler of chart-loaded for shop failed: no"),
        ("pre-install", "fail('not now')", "ext/lua/init.lua:3: the handler of pre-install for shop failed: not now"),
        ("ready", "fail('oh')", None),
    ],
)
async def test_an_error_in_a_handler_ends_the_operation_in_its_phase(
    stage: Stage, event: str, body: str, expected: str | None
) -> None:
    given = CHART | {
        "values.yaml": "myvalue: x\nsize: 1\n",
        "values.schema.json": '{"properties": {"size": {"type": "integer"}}}',
        "ext/lua/init.lua": handler(event, body),
    }
    async with stage.provisioner():
        operation_id = await install(stage, given, State.FAILED if expected else State.SUCCEEDED)
        found = (await runs(stage, operation_id))[-1]
    if expected:
        assert expected in await cause(stage, operation_id)
    if expected and "values.size" not in expected:
        assert (found.event, found.outcome) == (event, Outcome.FAILED)
        assert found.message.startswith("ext/lua/init.lua:")
    if event == "ready":
        assert (found.event, found.outcome) == (event, Outcome.WARNED)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("function init(events)\n  events.on('pre-rendr', 0, print)\nend", "ext/lua/init.lua:2"),
        ("function init(", "ext/lua/init.lua"),
        ("x = nil + 1", "ext/lua/init.lua:1"),
    ],
)
async def test_a_script_that_cannot_be_loaded_fails_before_anything_is_rendered(
    stage: Stage, script: str, expected: str
) -> None:
    async with stage.provisioner():
        operation_id = await install(stage, CHART | {"ext/lua/init.lua": script}, State.FAILED)
        assert await events(stage, operation_id) == ["read-chart"]
    assert (await cause(stage, operation_id)).startswith(f"LOAD: {expected}")


async def test_a_secret_that_a_handler_copies_stays_hidden(stage: Stage) -> None:
    script = handler(
        "pre-render", "values.twin = values.password; print(values.password); context.state.p = values.twin"
    )
    template = "resources: {web: {type: acme/web, config: {text: 'with {{ values.twin }}'}}}\n"
    values = {"password": "very-secret-word"}
    async with stage.provisioner():
        operation_id = await install(
            stage,
            CHART | {"ext/lua/init.lua": script, "templates/web.yaml": template},
            values=values,
            secret_values=["/password"],
        )
        revision = await stage.operator.revision("shop", with_all_values=True)
        told = [str(each) for each in await runs(stage, operation_id)]
    assert "very-secret-word" not in json.dumps([revision.manifest, revision.all_values, revision.source, told])
    assert any(each.get("config") == {"text": "with very-secret-word"} for each in stage.images.told)


async def test_a_subchart_that_goes_has_its_own_last_word(stage: Stage) -> None:
    script = """
        function init(events)
          for _, event in ipairs({"pre-delete", "post-delete"}) do
            events.on(event, 0, function (name, namespace, chart, values)
              if chart.name ~= "bar" or values.trace ~= "seed bar last parent of bar" then fail(values.trace) end
            end)
          end
          events.on("pre-render", 0.5, function (name, namespace, chart, values)
            values.trace = values.trace .. " " .. chart.name .. " last"
          end)
        end
    """
    async with stage.provisioner():
        await install(stage, FAMILY | {"charts/bar/ext/lua/init.lua": script})
        upgraded = await stage.operator.upgrade("shop", archive.pack("shop", files(CHART)))
        await stage.ends(upgraded.id)
        found = [(each.event, each.outcome) for each in await runs(stage, upgraded.id) if each.chart == "shop.bar"]
    assert found == [("pre-delete", Outcome.SUCCEEDED), ("post-delete", Outcome.SUCCEEDED)]


async def test_who_takes_an_operation_over_loads_its_scripts_again(stage: Stage) -> None:
    waiting = stage.images.thing("web")
    waiting.gates["create"] = asyncio.Event()
    given = CHART | {"ext/lua/init.lua": S0.replace("end)\n    end", "end)\n" + LATER + "    end")}
    async with stage.provisioner():
        begun = await stage.operator.install("shop", archive.pack("shop", files(given)))
        await eventually(lambda: "create" in stage.images.calls("web"))
    async with stage.provisioner():
        waiting.gates["create"].set()
        await stage.ends(begun.id)
        found = await runs(stage, begun.id)
    assert [each.event for each in found].count("pre-render") == 1
    (last,) = [each for each in found if each.event == "post-install"]
    assert [(each.file, each.outcome) for each in last.handlers] == [("ext/lua/init.lua", Outcome.SUCCEEDED)]


LATER = """
      events.on("post-install", 0, function (name, namespace, chart, values)
        if values.myvalue ~= "My Value" then fail(tostring(values.myvalue)) end
      end)
"""
