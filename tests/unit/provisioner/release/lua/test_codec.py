"""Documents on their way through Lua: what goes in comes out the same, and what JSON does not know is refused."""

import decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.provisioner.release.lua.scripting import failed, run

from tinkwell.core.release.lifecycle_event.name import Event
from tinkwell.core.value import document
from tinkwell.provisioner.release.lua import change

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
    .filter(lambda number: number == 0 or abs(number) > 1e-300)
    .map(lambda number: decimal.Decimal(repr(number)))
    | TEXTS
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=30
)


@settings(max_examples=60, deadline=None)
@given(value=DOCUMENTS)
async def test_any_document_comes_back_as_it_was(value: Any) -> None:
    answer = await run("values.again = json.decode(json.encode(values.given))", {"given": value})
    assert answer.values is not None
    # The interpreter may write another decimal number for the same double.
    assert document.is_same(change.kept(value, answer.values["again"]), value)
    assert document.dump_json(answer.values["given"]) == document.dump_json(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"z":1,"a":2,"m":{"y":[],"b":{},"c":null}}',
        '{"l":[null,1,null],"e":[],"o":{}}',
        '{"i":9223372036854775807,"j":-9223372036854775808,"f":1.0,"g":1e+40,"h":0.1}',
        '{"t":"ä\\n\\t\\"\\\\\\u0001\u2028😀"}',
        '{"1":"one","a b":2,"":3}',
    ],
)
async def test_kinds_keys_and_numbers_are_kept(text: str) -> None:
    value = document.parse_json_object("x", text)
    answer = await run("values.added = true", value)
    assert answer.values == {**value, "added": True}
    assert list(answer.values) == [*value, "added"]
    assert document.dump_json({key: answer.values[key] for key in value}) == document.dump_json(value)


async def test_a_number_that_stays_where_it_is_keeps_its_digits() -> None:
    given = {"a": decimal.Decimal("1.10"), "b": 10**40, "l": [decimal.Decimal("2.50"), 3]}
    answer = await run("values.c = values.a; values.l[2] = 4", given)
    assert answer.values is not None
    assert document.dump_json(answer.values) == (
        '{"a":1.10,"b":10000000000000000000000000000000000000000,"l":[2.50,4],"c":1.1}'
    )


async def test_known_keys_keep_their_order_and_new_ones_follow_by_name() -> None:
    answer = await run("values.b = nil; values.y = 1; values.x = 2; values.z = 0", {"z": 1, "b": 2, "a": 3})
    assert answer.values == {"z": 0, "a": 3, "x": 2, "y": 1}
    assert list(answer.values) == ["z", "a", "x", "y"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("values.x = {}", {}),
        ("values.x = json.list({})", []),
        ("values.x = {1, nil, 3}", [1, None, 3]),
        ("values.x = {1, null, 3}", [1, None, 3]),
        ("values.x = values.l; table.remove(values.x)", [1]),
        ("values.x = values.l; table.remove(values.x); table.remove(values.x)", []),
        ("values.x = values.l; table.insert(values.x, 3)", [1, 2, 3]),
        ("values.x = values.l; values.x[1] = nil", [None, 2]),
        ("values.x = {values.l, values.l}", [[1, 2], [1, 2]]),
        ("values.x = 2^53", decimal.Decimal("9007199254740992.0")),
        ("values.x = 7 // 2", 3),
        ("values.x = null", None),
        ('values.x = json.decode(\'[1, {"a": "\\\\ud83d\\\\ude00"}]\')', [1, {"a": "😀"}]),
        ("values.x = yaml.decode('a: [1, no, ~]')", {"a": [1, "no", None]}),
        ("values.x = yaml.decode(yaml.encode({a = {b = {1, 'yes'}}}))", {"a": {"b": [1, "yes"]}}),
    ],
)
async def test_what_a_script_makes_is_json(body: str, expected: Any) -> None:
    answer = await run(body, {"l": [1, 2]})
    assert answer.values is not None
    assert answer.values["x"] == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("values.a = {b = print}", "values.a.b: a function cannot be written as JSON"),
        ("values['a b'] = {{print}}", 'values["a b"][1][1]: a function cannot be written as JSON'),
        ("values.a = values", "values.a: a table contains itself"),
        ("values.a = 0/0", "values.a: NaN is no number that JSON knows"),
        ("values.a = {1/0}", "values.a[1]: infinity is no number that JSON knows"),
        ("values.a = {1, x = 2}", "values.a: a list has the key x"),
        ("values.a = {x = 2, [1] = 1}", "values.a: "),
        ("values.a = {[true] = 1}", "values.a: an object has a key that is a boolean"),
        ("values.a = {[0] = 1}", "values.a: a list has the key 0"),
        ("values.a = {[1000] = 1}", "values.a: a list of 1 items ends at place 1000"),
        ("values.a = '\\xff'", "values.a: a text that is not UTF-8"),
        ("local t = values for _ = 1, 64 do t.a = {} t = t.a end", "nested deeper than 64 levels"),
        ("for i = 1, 9 do values[tostring(i)] = ('x'):rep(2^20) end", "values: has more than 8 MiB as JSON"),
        ("values.a = 'x\\0y'", "values.a: the text"),
        ("context.state.a = ('x'):rep(2^16)", "context.state: has 65,"),
        ("context.state = {1}", "context.state: must be an object, and not a list"),
        ("context.templates = {a = 1}", "context.templates.a: must be a text, and not a number"),
        ('json.decode(\'{"a":1,"a":2}\')', "not JSON at byte 8: a key occurs twice"),
        ("json.decode('[1,]')", "not JSON at byte 4: no value"),
        ("json.decode('01')", "not JSON at byte 1: no value"),
        ("json.decode('[1] x')", "not JSON at byte 5: something follows the value"),
        ("json.decode('\"\\\\ud800\"')", "half of a surrogate pair"),
        ("json.decode('1e999')", "the number is too large"),
        ("json.decode(('['):rep(65))", "nested deeper than 64 levels"),
        ("json.decode({})", "a text is needed, and not a table"),
        ("json.encode(print)", "the value: a function cannot be written as JSON"),
        ("yaml.decode('a: 1\\na: 2')", "the text"),
        ("yaml.decode('a: *b')", "the text"),
        ("yaml.decode('a\\n---\\nb')", "the text: holds 2 documents, and not one"),
    ],
)
async def test_what_json_does_not_know_is_refused_with_its_path(body: str, message: str) -> None:
    error = await failed(body)
    assert message in error.message
    assert error.event is Event.PRE_RENDER
    assert error.file == "ext/lua/init.lua"
