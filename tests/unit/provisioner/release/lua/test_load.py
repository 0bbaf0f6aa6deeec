"""How scripts of charts load, what they see of each other, and what they register."""

from typing import Any

import pytest
from unit.provisioner.release.lua.scripting import INIT, chart, loaded, on, refused, request

from tinkwell.core.release.lifecycle_event.name import Event


async def test_files_load_in_sorted_order_and_charts_children_first() -> None:
    def files(name: str) -> dict[str, str]:
        return {
            f"ext/lua/{file}.lua": f"print('{name} {file}'); function init() print('{name} init') end"
            for file in ("b", "a")
        }

    _, handlers, lines = await loaded(
        chart("shop.bar.baz", files("baz")), chart("shop.bar", files("bar")), chart("shop", files("shop"))
    )
    order = ("baz", "bar", "shop")
    assert lines == [*(f"{name} {file}" for name in order for file in "ab"), *(f"{name} init" for name in order)]
    assert handlers == []


async def test_only_lua_right_in_the_folder_loads_by_itself() -> None:
    files = {"ext/lua/lib/x.lua": "print('x')", "ext/lua/notes.txt": "print(", "lib/y.lua": "print('y')"}
    _, _, lines = await loaded(chart("shop", files))
    assert lines == []


async def test_require_loads_a_file_of_the_chart_once() -> None:
    files = {
        "ext/lua/a.lua": "local lib = require('lib.tool'); print(lib.name, require('lib/tool') == lib, require('z'))",
        "ext/lua/lib/tool.lua": "print('tool'); return {name = 'a tool'}",
        "ext/lua/z.lua": "print('z')",
    }
    _, _, lines = await loaded(chart("shop", files))
    assert lines == ["tool", "z", "a tool\ttrue\ttrue"]


@pytest.mark.parametrize("name", ["none", "../init", "/etc/passwd", "charts.bar.ext.lua.init", "..", "bar", ""])
async def test_require_reaches_no_further_than_the_chart(name: str) -> None:
    bar = chart("shop.bar", {"ext/lua/bar.lua": "secret = 1"})
    found = await refused(bar, chart("shop", f"\nrequire('{name}')"))
    ((field, description),) = found.items()
    assert field == f"{INIT}:2"
    assert "in this chart; require finds files of its ext/lua only" in description


async def test_files_that_require_each_other_are_told() -> None:
    files = {"ext/lua/a.lua": "require('b')", "ext/lua/b.lua": "require('a')"}
    found = await refused(chart("shop", files))
    assert ["requires itself" in description for description in found.values()] == [True]


async def test_charts_share_no_globals_and_no_libraries() -> None:
    bar = chart("shop.bar", "x = 1; string.upper = nil; print = nil; table.mine = true; json.decode = nil")
    shop = "print(x, string.upper('a'), ('a'):upper(), table.mine, json.decode('1'), _G.x)"
    _, _, lines = await loaded(bar, chart("shop", shop))
    assert lines == ["nil\tA\tA\tnil\t1\tnil"]


async def test_a_parent_overrides_a_global_of_a_child_and_other_globals_stay() -> None:
    bar = """
    name = "bar"
    function hello() return "hello of bar" end
    function init(events) events.on("ready", 0, function () print(hello(), name) end) end
    """
    shop = """
    local former = subcharts.bar.hello
    function subcharts.bar.hello() return "hello of shop, not " .. former() end
    """
    scripts, (handler,), _ = await loaded(chart("shop.bar", bar), chart("shop", shop))
    assert (await scripts.call(handler, request(Event.READY))).lines == ("hello of shop, not hello of bar\tbar",)


async def test_a_chart_without_scripts_stands_between_others() -> None:
    _, _, lines = await loaded(chart("shop.a.b", "x = 5"), chart("shop", "print(subcharts.a.subcharts.b.x)"))
    assert lines == ["5"]


async def test_init_of_a_child_runs_once_though_its_parent_calls_it() -> None:
    bar = on("ready", "") + "print('loaded')"
    shop = "function init(events) subcharts.bar.init(events); subcharts.bar.init(events) end"
    _, handlers, _ = await loaded(chart("shop.bar", bar), chart("shop", shop))
    assert [(handler.chart, handler.origin) for handler in handlers] == [("shop.bar", "shop.bar")]


async def test_a_parent_replaces_the_init_of_a_child() -> None:
    shop = "function subcharts.bar.init(events) events.on('wait', 1, function () end) end"
    _, handlers, _ = await loaded(chart("shop.bar", on("ready", "")), chart("shop", shop))
    assert [(handler.event, handler.origin, handler.file) for handler in handlers] == [(Event.WAIT, "shop.bar", INIT)]


async def test_handlers_come_in_order_of_registration_with_what_they_hear() -> None:
    shop = """function init(events)
  events.on("pre-render", 1, function () end)
  events.on("bar:ready", 0, function ()
  end)
  events.on("watch", 0.25, print)
end"""
    _, handlers, _ = await loaded(chart("shop.bar", on("ready", "")), chart("shop", shop))
    found = [(each.ordinal, each.event, each.chart, each.origin, each.line, each.weight) for each in handlers]
    assert found == [
        (1, Event.READY, "shop.bar", "shop.bar", 2, 0.5),
        (2, Event.PRE_RENDER, "shop", "shop", 2, 1.0),
        (3, Event.READY, "shop.bar", "shop", 3, 0.0),
        (4, Event.WAIT, "shop", "shop", 5, 0.25),
    ]


@pytest.mark.parametrize(
    ("off", "left"),
    [
        ('events.off("ready")', ["shop"]),
        ('events.off("ready", "bar")', ["shop.barn", "shop"]),
        ('events.off("ready", "bar.baz")', ["shop.bar", "shop.barn", "shop"]),
        ('events.off("wait")', ["shop.bar.baz", "shop.bar", "shop.barn", "shop"]),
        ('events.off("ready", "shop")', ["shop.bar.baz", "shop.bar", "shop.barn", "shop"]),
    ],
)
async def test_a_parent_switches_handlers_of_subcharts_off(off: str, left: list[str]) -> None:
    shop = f"function init(events) events.on('ready', 0, function () end); {off} end"
    charts = [chart(path, on("ready", "")) for path in ("shop.bar.baz", "shop.bar", "shop.barn")]
    _, handlers, _ = await loaded(*charts, chart("shop", shop))
    assert [handler.origin for handler in handlers] == left


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('events.on("pre-rendr", 0, f)', '"pre-rendr" is no event that handlers hear; did you mean pre-render?'),
        ('events.on("bar:x", 0, f)', "they are: chart-loaded, pre-render, "),
        ('events.on("install", 0, f)', "Tinkwell does that itself."),
        ('events.on("pre-list", 0, f)', "pre-list belongs to no chart; only handlers in Python hear it"),
        ('events.on(":ready", 0, f)', "names no subchart before the colon"),
        ('events.on("ready", 0/0, f)', "takes a weight from 0 to 1"),
        ('events.on("ready", -0.1, f)', "takes a weight from 0 to 1"),
        ('events.on("ready", 1.1, f)', "takes a weight from 0 to 1"),
        ('events.on("ready", "0", f)', "takes a weight from 0 to 1"),
        ('events.on("ready", f)', "takes a weight from 0 to 1"),
        ('events.on("ready", 0)', "takes a function after the weight"),
        ("events.on(f, 0, f)", "takes the name of an event first"),
        ('events.on("\\xff", 0, f)', "takes the name of an event first"),
        ("events.off()", "takes the name of an event first"),
        ('events.off("ready", 1)', "takes the name of a subchart second"),
        ('events.off("bar:ready")', 'the subchart is the second argument: write events.off("ready", "bar")'),
        ('events.off("redy")', '"redy" is no event'),
        ("events.on = nil", "events cannot be changed: on was assigned"),
        ("for n = 1, 1001 do events.on('ready', 0, f) end", "there are more than 1000 handlers"),
        ("fail('not for this chart')", "not for this chart"),
        ("print(subcharts.none.x)", "attempt to index a nil value (field 'none')"),
    ],
)
async def test_what_is_wrong_in_init_is_told_with_its_line(line: str, message: str) -> None:
    found = await refused(chart("shop.bar", f"function init(events)\n  local f = function () end\n  {line}\nend"))
    ((field, description),) = found.items()
    assert field == f"charts/bar/{INIT}:3"
    assert message in description


async def test_all_unknown_events_are_told_at_once() -> None:
    script = "function init(events)\n events.on('a', 0, print)\n events.on('b', 0, print)\nend"
    assert list(await refused(chart("shop", script))) == [f"{INIT}:2", f"{INIT}:3"]


async def test_a_script_that_is_no_lua_is_told_with_its_line() -> None:
    found = await refused(chart("shop", "\nfunction init(events) {\n"))
    ((field, description),) = found.items()
    assert field == f"{INIT}:2"
    assert "unexpected symbol near '{'" in description
    required = {"ext/lua/a.lua": "\nrequire('lib.x')", "ext/lua/lib/x.lua": "x ="}
    ((field, description),) = (await refused(chart("shop", required))).items()
    assert field == "ext/lua/a.lua:2"
    assert description.startswith("ext/lua/lib/x.lua:1: unexpected symbol")


async def test_handlers_cannot_be_registered_later() -> None:
    script = """
    function init(events)
      events.on("ready", 0, function () events.on("ready", 0, print) end)
    end
    """
    scripts, (handler,), _ = await loaded(chart("shop", script))
    with pytest.raises(Exception, match="handlers are registered and switched off in init alone"):
        await scripts.call(handler, request(Event.READY))


async def test_an_init_that_is_no_function_is_no_entry_point() -> None:
    for script in ("init = 5", "init = {}", ""):
        assert (await loaded(chart("shop", script)))[1] == []


async def test_a_long_path_of_a_chart_is_told_whole() -> None:
    path = "shop" + ".a-rather-long-name-of-a-subchart" * 4
    files: Any = {"ext/lua/a-file-whose-name-is-long-too.lua": "\n\nlocal x = nil + 1"}
    found = await refused(chart(path, files))
    folder = "charts/a-rather-long-name-of-a-subchart/" * 4
    assert found == {
        f"{folder}ext/lua/a-file-whose-name-is-long-too.lua:3": "attempt to perform arithmetic on a nil value"
    }
