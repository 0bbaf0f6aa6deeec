"""One text with an expression: what it is, what it gives, and what is said of one that is wrong."""

from typing import Any

import pytest

from tinkwell.provisioner.release.expression import language
from tinkwell.provisioner.release.expression.fault import Fault, Unknown

NAMES: dict[str, Any] = {
    "name": "John",
    "c1": 1,
    "on": True,
    "nothing": None,
    "ratio": 1.5,
    "zones": ["a", "b", "c"],
    "disk": {"name": "d1", "state": {"zone": "eu", "size": 10, "items": [1]}},
    "evil": "{{ name }}",
    "result": 5,
}


def evaluate(text: str) -> Any:
    return language.compile_text(text).evaluate(NAMES)


def reason(text: str) -> str:
    with pytest.raises(Fault) as raised:
        evaluate(text)
    return raised.value.reason


# Deployster's own table stands first.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ 1 + 2 }}", 3),
        ("{{ c1 + 1 }}", 2),
        ("hello, {{ name }}!", "hello, John!"),
        ("a{{1+2}}b", "a3b"),
        ("{{ (2+3) | string}}", "5"),
        (" {{ 1+1 }}", " 2"),
        ("{{ 1+1 }} ", "2 "),
        ("{{ 1+1 }}\n", "2\n"),
        ("{{ zones }}", ["a", "b", "c"]),
        ("{{ disk.state }}", {"zone": "eu", "size": 10, "items": [1]}),
        ("{{ on }}", True),
        ("{{ not on }}", False),
        ("{{ nothing }}", None),
        ("{{ ratio }}", 1.5),
        ("{{ 10 / 4 }}", 2.5),
        ("{{ 7 // 2 }}", 3),
        ("{{ 7 % 2 }}", 1),
        ("{{ 2 ** 10 }}", 1024),
        ("{{ 'ab' * 2 }}", "abab"),
        ("{{ [1] + [2] }}", [1, 2]),
        ("{{ 'a' + 'b' }}", "ab"),
        ("{{ 1 ~ 'a' ~ none }}", "1aNone"),
        ("{{- c1 -}}", 1),
        ("{{ '}}' }}", "}}"),
        ("{{ '{{' }}", "{{"),
        ("{{ name }}{{ c1 }}", "John1"),
        ("{{ name }}{# a comment #}", "John"),
        ("{% if on %}yes{% else %}no{% endif %}", "yes"),
        ("{% for z in zones %}{{ loop.index }}{{ z }}{% endfor %}", "1a2b3c"),
        ("{% set x = 3 %}{{ x }}", "3"),
        ("{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{{ twice('a') }}", "aa"),
        ("{% raw %}{{ name }}{% endraw %}", "{{ name }}"),
        ("{{ zones | map('upper') }}", ["A", "B", "C"]),
        ("{{ zones | reverse }}", ["c", "b", "a"]),
        ("{{ zones | join('-') }}", "a-b-c"),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ 1, 2 }}", [1, 2]),
        ("{{ {'a': zones} }}", {"a": ["a", "b", "c"]}),
        ("{{ disk.state.items() }}", [["zone", "eu"], ["size", 10], ["items", [1]]]),
        ("{{ disk.state['items'] }}", [1]),
        ("{{ disk | tojson }}", '{"name": "d1", "state": {"items": [1], "size": 10, "zone": "eu"}}'),
        ("{{ '<b>' | e }}", "&lt;b&gt;"),
        ("{{ '<b>' | striptags }}", ""),
        ("{{ 'ä b' | urlencode }}", "%C3%A4%20b"),
        ("{{ '{:03d}'.format(c1) }}", "001"),
        ("{{ nope | default('x') }}", "x"),
        ("{{ nope is defined }}", False),
        ("{{ disk.nope is undefined }}", True),
        ("{{ disk.nope | default(3) }}", 3),
        ("{{ on or nope }}", True),
        ("{{ result }}", 5),
        ("{{ evil }}", "{{ name }}"),
        ("x{{ evil }}", "x{{ name }}"),
        ("{{ [evil] }}", ["{{ name }}"]),
        ("{{ zones }} {{ disk }}", "['a', 'b', 'c'] {'name': 'd1', 'state': {'zone': 'eu', 'size': 10, 'items': [1]}}"),
        ("{{ '\\u00e4' }}", "ä"),
    ],
)
def test_a_pure_text_gives_a_value_and_a_mixed_one_text(text: str, value: object) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["", "3+4", "{ {", "}}", "{# no comment #}", "a { b } %}"])
def test_a_text_without_an_opening_is_plain(text: str) -> None:
    assert language.is_plain(text)


@pytest.mark.parametrize(("text", "name"), [("{{ nme }}", "nme"), ("x-{{ nme }}-y", "nme"), ("{{ nme.state }}", "nme")])
def test_a_name_that_is_unknown_is_told(text: str, name: str) -> None:
    with pytest.raises(Unknown) as raised:
        evaluate(text)
    assert raised.value.name == name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ disk.stat.zone }}", "there is no stat in it; did you mean state?"),
        ("{{ disk.state.zon }}", "there is no zon in it; did you mean zone?"),
        ("x{{ disk.state.zon }}", "there is no zon in it; did you mean zone?"),
        ("{{ [disk.nowhere] }}", "there is no nowhere in it; known are name, state"),
        ("{{ zones[7] }}", "a list has no 7"),
        ("{{ name.nowhere }}", "a string has no nowhere"),
        ("{{ c1 + name }}", "+ does not take a number and a string; ~ joins texts"),
        ("{{ name * ratio }}", "* does not take a string and a number"),
        ("{{ disk ** zones }}", "** does not take an object and a list"),
        ("{{ nothing % 2 }}", "% does not take null and a number"),
        ("{{ name < 1 }}", "'<' not supported between instances of 'str' and 'int' (TypeError)"),
        ("{{ c1() }}", "'int' object is not callable"),
        ("{{ 1 / 0 }}", "division by zero (ZeroDivisionError)"),
        ("{{ name | upper('x') }}", "takes 1 positional argument"),
        ("{{ a b }}", "is no valid expression: expected token 'end of print statement', got 'b'"),
        ("{{ }}", "is no valid expression: Expected an expression"),
        ("{{ name", "is no valid expression: unexpected end of template"),
        ("{{ name }}}} {{", "is no valid expression: unexpected 'end of template'"),
        ("{% if on %}", "is no valid expression: Unexpected end of template"),
        ("{% for %}", "is no valid expression"),
        ("{{ name | nope }}", "is no valid expression: No filter named 'nope'"),
        ("{{ zones | map('nope') }}", "is no valid expression: No filter named 'nope'"),
        ("{{ name is nope }}", "is no valid expression: No test named 'nope'"),
        ("{% include 'x' %}", "include, import, extends and block are not available"),
        ("{% import 'x' as y %}", "include, import, extends and block are not available"),
        ("{% from 'x' import y %}", "include, import, extends and block are not available"),
        ("{% extends 'x' %}", "include, import, extends and block are not available"),
        ("{% block x %}{% endblock %}", "include, import, extends and block are not available"),
        ("{{ name.upper }}", "gives a function"),
        ("x{{ name.upper }}", "gives a function"),
        ("{{ disk.state.items }}", "gives a function; call it with (), or write x['name']"),
        ("{{ 'a'.encode() }}", "gives bytes, for which JSON has no form"),
        ("{{ {1: 2} }}", "gives an object with a key that is a number; keys are texts"),
        ("{{ 1e308 * 10 }}", "gives inf, which is beyond"),
        ("{{ 10 ** 63 }}", "gives a number of more than 63 digits"),
        ("{{ '\\ud800' }}", "a lone surrogate, which cannot be stored"),
        ("{{ '\\x00' }}", "the NUL character, which cannot be stored"),
        ("x{{ '\\x00' }}", "the NUL character, which cannot be stored"),
        ("{{ self }}", "gives TemplateReference, for which JSON has no form"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(text: str, said: str) -> None:
    assert said in reason(text)


@pytest.mark.parametrize("name", language.REMOVED_GLOBALS)
def test_functions_that_make_much_of_nothing_are_not_there(name: str) -> None:
    assert reason(f"{{{{ {name}(3) }}}}") == f"there is no {name} here"


@pytest.mark.parametrize("name", ["attr", "urlize", "xmlattr", "pprint", "center", "wordwrap", "random", "format"])
def test_filters_that_lead_out_or_make_much_of_nothing_are_not_there(name: str) -> None:
    assert f"No filter named '{name}'" in reason(f"{{{{ name | {name} }}}}")
    assert f"No filter named '{name}'" in reason(f"{{{{ zones | map('{name}') | list }}}}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ range(10000) | length }}", ""),
        ("{{ range(10001) }}", "range gives more than 10,000 numbers"),
        ("{{ range(10 ** 60) }}", "range gives more than 10,000 numbers"),
        ("{{ range(10 ** 60, 0, -1) }}", "range gives more than 10,000 numbers"),
        ("{{ range(0, 10 ** 60, 10 ** 59) | length }}", ""),
        ("{{ ('x' * 1048576) | length }}", ""),
        ("{{ 'x' * 1048577 }}", "* would make more than 1,048,576 characters or items"),
        ("{{ 1048577 * 'x' }}", "* would make more than"),
        ("{{ [1] * 1048577 }}", "* would make more than"),
        ("{{ ('x' * 1048576) + 'x' }}", "+ would make more than 1,048,576 characters or items"),
        ("{{ ([1] * 1048576) + [1] }}", "+ would make more than"),
        ("{{ ('x' * 1048576) ~ 'x' }}", "~ gives more than 1,048,576 characters"),
        ("{{ 'x' * 1048574 }}", "gives more than 1,024 KiB"),
        ("{{ ['x' * 600000, 'x' * 600000] }}", "gives more than 1,024 KiB"),
        ("{{ 'x' * 600000 }}{{ 'x' * 600000 }}", "gives more than 1,048,576 characters"),
        ("{{ 'ä' * 600000 }}", "gives more than 1,024 KiB"),
        ("{{ 2 ** 4095 > 1 }}", "** would make a number of more than 4,096 bits"),
        ("{{ 2 ** 2047 > 1 }}", ""),
        ("{{ (2 ** 2000) * (2 ** 2000) > 1 }}", ""),
        ("{{ (2 ** 2000) * (2 ** 2000) * (2 ** 2000) > 1 }}", "* would make a number of more than 4,096 bits"),
        ("{{ (2 ** 2000) * (2 ** 2000) * (2 ** 94) + (2 ** 2000) * (2 ** 2000) * (2 ** 94) > 1 }}", ""),
        ("{{ 2 ** -1 }}", ""),
        ("{{ '%s' % 1 }}", "% formats no texts here; join them with ~"),
        ("{{ ('%s' | e) % 1 }}", "% formats no texts here"),
    ],
)
def test_sizes_are_checked_before_anything_is_made(text: str, said: str) -> None:
    if said:
        assert said in reason(text)
    else:
        evaluate(text)


def nested(depth: int) -> str:
    return "{{ " + "[" * depth + "]" * depth + " }}"


def test_a_value_is_nested_at_most_64_levels_deep_with_what_it_stands_in() -> None:
    assert evaluate(nested(64))
    assert "nested deeper than 64 levels" in reason(nested(65))
    with pytest.raises(Fault, match="nested deeper than 64 levels"):
        language.compile_text(nested(62)).evaluate(NAMES, depth=3)


@pytest.mark.parametrize("text", ["{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "{{ 1" + " + 1" * 300 + " }}"])
def test_an_expression_that_is_nested_too_deeply_is_told(text: str) -> None:
    assert reason(text) == "is nested too deeply, or calls itself without end"


@pytest.mark.parametrize(
    ("text", "roots", "optional"),
    [
        ("{{ a.b.c + d[e] }}", {"a", "d", "e"}, set()),
        ("{% for a in b %}{{ a }}{{ loop.index }}{% endfor %}", {"b"}, set()),
        ("{% set a = 1 %}{{ a }}{{ range(2) }}", {"range"}, set()),
        ("{{ a is defined and b }}", {"a", "b"}, {"a"}),
        ("{{ a | default(b) }}", {"a", "b"}, {"a"}),
        ("{{ a.b | default(1) }}", {"a"}, set()),
        ("{{ (a is undefined) ~ (b | d(1)) }}", {"a", "b"}, {"a", "b"}),
        ("{{ 'a' }}", set(), set()),
    ],
)
def test_the_names_that_a_text_looks_up_are_known(text: str, roots: set[str], optional: set[str]) -> None:
    compiled = language.compile_text(text)
    assert set(compiled.roots) == roots
    assert set(compiled.optional) == optional


def test_a_text_is_compiled_once() -> None:
    assert language.compile_text("{{ name }} once") is language.compile_text("{{ name }} once")


def test_what_comes_out_is_no_part_of_what_went_in() -> None:
    found = evaluate("{{ disk }}")
    found["state"]["zone"] = "us"
    assert NAMES["disk"]["state"]["zone"] == "eu"
