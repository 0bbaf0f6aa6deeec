"""Variables: single ones, files of them, and what comes out of many."""

import copy

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import variables
from tinkwell.core.value.document import JsonObject, JsonValue


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("foo=bar", {"foo": "bar"}),
        ("foo=", {"foo": ""}),
        ('foo=""', {"foo": ""}),
        ('foo="a b"', {"foo": "a b"}),
        ('foo=""a""', {"foo": '"a"'}),
        ('foo="', {"foo": '"'}),
        ("foo=a=b", {"foo": "a=b"}),
        ("_foo-1={{ x }}", {"_foo-1": "{{ x }}"}),
        ("foo=1", {"foo": "1"}),
    ],
)
def test_a_single_variable_is_text(text: str, values: JsonObject) -> None:
    assert variables.parse_variable(text) == variables.Layer(values, is_file=False)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("foo", 'var: "foo" has no =; write it as NAME=VALUE'),
        ("", 'var: "" has no ='),
        ("=x", 'var: "" is not the name of a variable'),
        ("1a=x", 'var: "1a" is not the name of a variable'),
        ("a b=x", 'var: "a b" is not the name of a variable'),
        ("release=x", "var: release means something else in expressions; choose another name"),
        ("foo=\0", "the NUL character"),
    ],
)
def test_a_single_variable_that_is_wrong_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        variables.parse_variable(text)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, "vars.yaml: is empty; a file of variables must be an object, such as NAME: VALUE"),
        ([1], "vars.yaml: is a list"),
        ("x", "vars.yaml: is a string"),
        ({"1a": 1, "vars": 2}, 'vars.yaml.1a: "1a" is not the name of a variable'),
        ({"1a": 1, "vars": 2}, "vars.yaml.vars: vars means something else"),
    ],
)
def test_a_file_that_is_wrong_is_refused(value: JsonValue, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        variables.parse_file("vars.yaml", value)
    assert sentence in [f"{v.field}: {v.description}"[: len(sentence)] for v in caught.value.violations]


def test_a_file_may_hold_any_values_by_name() -> None:
    values: JsonObject = {"a": {"b": [1, None]}, "_c-1": "{{ x }}"}
    assert variables.parse_file("vars.yaml", values) == variables.Layer(values)


def test_merging_goes_into_objects_and_leaves_its_sources_alone() -> None:
    under: JsonObject = {"k1": "v1", "k4": {"v40": 1, "v42": {"a": 1}}, "l": [1, 2]}
    over: JsonObject = {"k2": "v2", "k3": {"x": 1}, "k4": {"v41": 2, "v42": {"b": 2}}, "l": [3], "k1": {"now": 1}}
    before = copy.deepcopy((under, over))
    assert variables.merge(under, over) == {
        "k1": {"now": 1},
        "k2": "v2",
        "k3": {"x": 1},
        "k4": {"v40": 1, "v41": 2, "v42": {"a": 1, "b": 2}},
        "l": [3],
    }
    assert (under, over) == before


def test_later_layers_win_and_only_files_are_merged() -> None:
    layers = [
        variables.Layer({"a": {"x": 1}, "b": {"x": 1}}),
        variables.Layer({"a": {"y": 2}}),
        variables.Layer({"b": "text"}, is_file=False),
        variables.Layer({"c": 1}),
    ]
    assert variables.fold(layers) == {"a": {"x": 1, "y": 2}, "b": "text", "c": 1}
    assert variables.fold([]) == {}


def test_a_file_is_evaluated_with_what_came_before_it_and_a_single_variable_is_not() -> None:
    seen: list[tuple[JsonObject, JsonObject]] = []

    def evaluate(values: JsonObject, known: JsonObject) -> JsonObject:
        seen.append((values, known))
        return {key: f"{value}!" for key, value in values.items()}

    layers = [variables.Layer({"n": "1"}, is_file=False), variables.Layer({"s": "abc", "n": "2"})]
    assert variables.fold(layers, evaluate) == {"n": "2!", "s": "abc!"}
    assert seen == [({"s": "abc", "n": "2"}, {"n": "1"})]


def test_there_may_be_so_much_and_no_more() -> None:
    with pytest.raises(errors.InvalidField, match=r"variables: has .* bytes; at most 1,048,576"):
        variables.fold([variables.Layer({f"k{number}": "x" * 600_000}) for number in range(2)])
