"""What handlers are given, what they may change, and what is told when they fail."""

from typing import Any

import pytest
from unit.provisioner.release.lua.scripting import chart, failed, loaded, request, run, same_process

from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.provisioner.release.lua.scripts import HandlerFailed

MANIFEST: Any = {"resources": {"shop:web": {"type": "acme/web", "config": {"port": 80}}}, "outputs": {}}


async def test_the_script_of_the_seed_sets_a_value() -> None:
    script = """
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
    scripts, (handler,), _ = await loaded(chart("shop", script))
    answer = await scripts.call(handler, request(Event.PRE_RENDER, {"a": 1}))
    assert answer.lines == ("got chart shop",)
    assert answer.values == {"a": 1, "myvalue": "My Value"}


async def test_a_handler_is_given_the_release_its_chart_and_its_context() -> None:
    answer = await run(
        """
        print(name, namespace, chart.version, chart.keywords[2], #chart.keywords, values.a.b, manifest == nil)
        print(context.release.revision, context.config.dry_run, context.state.n, context.templates["a.yaml"])
        print(context.files.get("x.txt"), context.files["x.txt"], context.files["no.png"] == null)
        print(json.encode(chart))
        for key, word in pairs(chart.keywords) do print(key, word) end
        """,
        {"a": {"b": 7}},
        state={"n": 3},
        templates={"a.yaml": "text"},
        files={"x.txt": "content", "no.png": None},
    )
    assert answer.lines == (
        "shop\tdefault\t1.0.0\tb\t2\t7\ttrue",
        "1\tfalse\t3\ttext",
        "content\tcontent\ttrue",
        '{"name":"shop","version":"1.0.0","keywords":["a","b"]}',
        "1\ta",
        "2\tb",
    )
    assert (answer.values, answer.templates, answer.manifest, answer.state) == (None, None, None, {"n": 3})
    assert answer.warnings == ()


async def test_what_did_not_change_is_none_though_it_was_touched() -> None:
    answer = await run("values.x = 1; values.x = nil; values.a = values.a", {"a": [1.0, {}]})
    assert answer.values is None


async def test_values_and_templates_change_before_rendering() -> None:
    answer = await run("values.x = 1; context.templates.a = nil; context.templates.b = 'B'", templates={"a": "A"})
    assert answer.values == {"x": 1}
    assert answer.templates == {"b": "B"}
    assert (await run("context.templates = {c = 'C'}", templates={"a": "A"})).templates == {"c": "C"}


@pytest.mark.parametrize("event", [Event.POST_RENDER, Event.PRE_VALIDATE, Event.POST_VALIDATE])
async def test_the_manifest_changes_until_it_is_validated(event: Event) -> None:
    answer = await run(
        'manifest.resources["shop:web"].config.port = 81; context.objects["shop:log"] = {type = "acme/log"}',
        event=event,
        manifest=MANIFEST,
    )
    web = {"type": "acme/web", "config": {"port": 81}}
    assert answer.manifest == {"resources": {"shop:web": web, "shop:log": {"type": "acme/log"}}, "outputs": {}}
    assert answer.warnings == ()


async def test_objects_that_are_assigned_stand_in_the_manifest() -> None:
    answer = await run("context.objects = {}", event=Event.POST_RENDER, manifest=MANIFEST)
    assert answer.manifest == {"resources": {}, "outputs": {}}


@pytest.mark.parametrize(
    ("event", "body", "dropped"),
    [
        (Event.POST_RENDER, "values.x = 1", "values.x"),
        (Event.POST_RENDER, "context.templates.a = 'x'", "context.templates.a"),
        (Event.PRE_INSTALL, "manifest.resources = {}", 'manifest.resources["shop:web"]'),
        (Event.READY, "context.objects = nil", "manifest.resources"),
        (Event.PRE_RENDER, "context.config.dry_run = true", "context.config.dry_run"),
        (Event.PRE_RENDER, "context.config = nil", "context.config"),
        (Event.PRE_RENDER, "context.release = {}", "context.release"),
        (Event.PRE_RENDER, "context.own = 1", "context.own"),
        (Event.PRE_RENDER, "context[{}] = 1", "a key of context that is no text"),
    ],
)
async def test_other_changes_are_dropped_with_a_warning(event: Event, body: str, dropped: str) -> None:
    manifest = None if event is Event.PRE_RENDER else MANIFEST
    answer = await run(body, {"a": 1}, event=event, manifest=manifest, templates={"a": "A"})
    assert (answer.values, answer.templates, answer.manifest) == (None, None, None)
    assert (answer.warnings, answer.dropped) == ((), (dropped,))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('chart.name = "x"', "chart cannot be changed: name was assigned"),
        ("chart.keywords[1] = 2", "chart cannot be changed: a key was assigned"),
        ("table.insert(chart.keywords, 2)", "chart cannot be changed: a key was assigned"),
        ("rawset(chart, 'name', 'x')", "this table cannot be changed"),
        ("json.list(chart)", "json.list takes a table"),
        ("context.release.name = nil", "release cannot be changed: name was assigned"),
        ("context.files.x = 1", "files cannot be changed: x was assigned"),
        ("context.files.get('x')", "there is no file of this name in files/"),
        ("context.files.get('b')", "this file is no text"),
        ("null.x = 1", "null cannot be changed"),
        ("print(null.x)", "null has no fields"),
    ],
)
async def test_what_is_read_only_raises_when_it_is_written(body: str, message: str) -> None:
    error = await failed(body, files={"a": "", "b": None})
    assert message in error.message
    assert (error.file, error.line) == ("ext/lua/init.lua", 3)


async def test_an_error_has_event_chart_file_line_and_traceback() -> None:
    script = """function init(events)
  local function deeper(x)
    return x.y.z
  end
  events.on("post-install", 0, function () deeper({}); print("not reached") end)
end
"""
    scripts, (handler,), _ = await loaded(chart("shop.bar", script))
    with pytest.raises(HandlerFailed) as raised:
        await scripts.call(handler, request(Event.POST_INSTALL))
    error = raised.value
    assert (error.event, error.chart, error.file, error.line) == (Event.POST_INSTALL, "shop", "ext/lua/init.lua", 3)
    assert error.message == "attempt to index a nil value (field 'y')"
    assert error.traceback.splitlines() == [
        "shop.bar: ext/lua/init.lua:3: in function deeper",
        "shop.bar: ext/lua/init.lua:5: in a function",
    ]
    assert str(error) == f"post-install of shop: ext/lua/init.lua:3: {error.message}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("fail('no such zone')", "no such zone"),
        ("fail()", "fail was called without a text"),
        ("error('plain')", "plain"),
        ("error('plain', 0)", "plain"),
        ("error(12)", "12"),
        ("error({})", "an error was raised that is no text but a table"),
        ("error()", "an error was raised that is no text but a nil"),
        ("error(null)", "an error was raised that is no text but a table"),
        ("assert(false)", "assertion failed!"),
        ("assert(1 == 2, 'must be')", "must be"),
        ("error('\\xff')", "?"),
    ],
)
async def test_whatever_is_raised_is_told(body: str, message: str) -> None:
    error = await failed(body)
    assert error.message == message
    assert error.line == 3


async def test_a_handler_that_fails_leaves_values_and_state_as_they_were() -> None:
    scripts = same_process(
        chart(
            "shop",
            """
            function init(events)
              events.on("pre-render", 0, function (_, _, _, values, _, context)
                values.a = 2; context.state.a = 2; if values.fails then fail("no") end
              end)
            end
            """,
        )
    )
    (handler,), _ = await scripts.load()
    given = request(Event.PRE_RENDER, {"a": 1, "fails": True})
    with pytest.raises(HandlerFailed):
        await scripts.call(handler, given)
    assert given.values == {"a": 1, "fails": True}
    assert given.context["state"] == {}
    answer = await scripts.call(handler, request(Event.PRE_RENDER, {"a": 1}))
    assert (answer.values, answer.state) == ({"a": 2}, {"a": 2})


async def test_what_is_printed_is_told_up_to_a_limit() -> None:
    answer = await run("print('a', 1, nil, null); log('b'); log.info('c'); log.warning('d')")
    assert answer.lines == ("a\t1\tnil\tnull", "b", "c")
    assert answer.warnings == ("d",)
    answer = await run("for n = 1, 1002 do print(n) end; print(('x'):rep(5000))")
    assert len(answer.lines) == 1000
    assert answer.warnings == ("more than 1000 lines were printed; the rest is left out",)
    assert len((await run("print(('x'):rep(5000))")).lines[0]) == 4097


async def test_pairs_goes_in_an_order_that_is_the_same_everywhere() -> None:
    answer = await run(
        """
        values.new = 1
        local keys = {}
        for key in pairs(values) do keys[#keys + 1] = key end
        for key in pairs({z = 1, a = 2, [3] = 3, [1] = 1}) do keys[#keys + 1] = key end
        print(table.concat(keys, " "))
        for key, value in pairs(setmetatable({}, {__pairs = function () return next, {own = 1} end})) do print(key) end
        for key in pairs(values) do values[key] = nil end
        """,
        {"z": 1, "b": 2, "a": 3},
    )
    assert answer.lines == ("z b a new 1 3 a z", "own")
    assert answer.values == {}


async def test_numbers_by_chance_are_the_same_everywhere() -> None:
    body = "print(math.random(1, 1000000), math.random(1, 1000000))"
    assert (await run(body)).lines == (await run(body)).lines


async def test_variables_of_scripts_live_on_between_handlers() -> None:
    script = """
    local count = 0
    function init(events)
      events.on("ready", 0, function () count = count + 1; print(count) end)
    end
    """
    scripts, (handler,), _ = await loaded(chart("shop", script))
    for expected in ("1", "2"):
        assert (await scripts.call(handler, request(Event.READY))).lines == (expected,)
