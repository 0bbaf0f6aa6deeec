"""The texts that scripts make of values, and those of errors about what scripts have not."""

import pytest
from unit.provisioner.release.lua.scripting import chart, failed, refused, run


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("tostring({})", "table"),
        ("tostring(print)", "function"),
        ("tostring(chart)", "table"),
        ("tostring(setmetatable({}, {__name = 'own'}))", "table"),
        ("tostring(setmetatable({}, {__tostring = function() return 'own' end, __metatable = 1}))", "own"),
        ("tostring(null)", "null"),
        ("tostring(nil)", "nil"),
        ("tostring(1.5)", "1.5"),
        ("string.format('%s %5s|%d%%s', {}, print, 3)", "table function|3%s"),
        ("string.format('%%%-9s|%s', {}, nil)", "%table    |nil"),
        ("('%s'):format({})", "table"),
        ("string.format('%5.1f%%p', 2)", "  2.0%p"),
        ("{}, print", "table\tfunction"),
    ],
)
async def test_no_text_shows_an_address(expression: str, text: str) -> None:
    assert (await run(f"print({expression})")).lines == (text,)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("string.format('%p', {})", "string.format has no %p in scripts"),
        ("string.format('%%%-20p', 'x')", "string.format has no %p in scripts"),
        ("tostring()", "bad argument #1 to 'tostring' (value expected)"),
        ("string.format('%d', {})", "(number expected, got table)"),
        ("string.format('%s')", "(no value)"),
        ("error({})", "an error was raised that is no text but a table"),
        ("error(tostring({}))", "table"),
    ],
)
async def test_an_error_shows_none_either(body: str, message: str) -> None:
    error = await failed("\n" + body)
    assert error.message.endswith(message)
    assert "0x" not in error.message
    assert error.line == 4


@pytest.mark.parametrize(
    ("body", "name"),
    [("os.getenv('HOME')", "os"), ("io.open('x')", "io"), ("load('return 1')", "load"), ("debug.x = 1", "debug")],
)
async def test_what_scripts_have_not_is_named(body: str, name: str) -> None:
    assert (await failed(body)).message == f"there is no {name} in scripts"
    found = await refused(chart("shop", body))
    assert found == {"ext/lua/init.lua:1": f"there is no {name} in scripts"}


async def test_other_globals_that_are_not_there_are_told_as_lua_does() -> None:
    assert (await failed("strings.x()")).message == "attempt to index a nil value (global 'strings')"
    assert (await run("print(os == nil, load)")).lines == ("true\tnil",)


@pytest.mark.parametrize(("weight", "told"), [("2", "2"), ("0/0", "-nan|nan"), ("'0'", "a string"), ("{}", "a table")])
async def test_a_wrong_weight_is_repeated(weight: str, told: str) -> None:
    script = f"function init(events) events.on('ready', {weight}, function() end) end"
    (message,) = (await refused(chart("shop", script))).values()
    assert message.rpartition(", and not ")[2] in told.split("|")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"'\xffé\xc3é\xe2\x82'", "?é?é??"),
        (r"('x'):rep(4095) .. 'é'", "x" * 4095 + "…"),
        (r"('x'):rep(4094) .. 'éé'", "x" * 4094 + "é…"),
        (r"('\xff'):rep(300)", "?" * 101 + "…"),
    ],
)
async def test_what_is_no_text_is_told_without_a_change_of_the_rest(expression: str, text: str) -> None:
    assert (await run(f"print({expression})")).lines == (text,)
    assert (await run(f"log.warning({expression})")).warnings == (text,)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (r"fail('\xffé')", "?é"),
        ("fail(('é'):rep(1001))", "é" * 1000 + "…"),
        ("fail('x' .. ('é'):rep(1001))", "x" + "é" * 999 + "…"),
        (
            r"values.x = {['\t\"é' .. ('k'):rep(60)] = print}",
            'values.x["\\t\\"é' + "k" * 56 + '…"]: a function cannot be',
        ),
        ("require('a.b')", "there is no a.b in this chart"),
        ("require('a/b')", "there is no ext/lua/a/b.lua in this chart"),
    ],
)
async def test_an_error_shows_what_it_was_given_and_where_it_is_cut(body: str, message: str) -> None:
    assert (await failed(body)).message.startswith(message)


async def test_of_very_many_changes_that_are_dropped_some_are_told() -> None:
    dropped = (await run("for n = 1, 1e4 do context['k' .. n .. ('x'):rep(300)] = 1 end")).dropped
    assert len(dropped) == 101
    assert dropped[-1] == "further keys of context"
    assert {len(text) for text in dropped[:-1]} == {201}
