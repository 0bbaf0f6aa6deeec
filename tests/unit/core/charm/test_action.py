"""The parameters of tasks: what an action declares, what is completed, and what is refused."""

import decimal

import pytest

from tinkwell.core import errors
from tinkwell.core.charm import action, metadata
from tinkwell.core.charm.record import Action
from tinkwell.core.value.document import JsonObject

BACKUP = Action(
    name="backup",
    parameters={
        "target": {"type": "string"},
        "level": {"type": "integer", "default": 1, "minimum": 0, "maximum": 9},
        "ratio": {"type": "number"},
        "is-quick": {"type": "boolean"},
        "mode": {"enum": ["full", "part", 3]},
        "either": {"type": ["integer", "null"]},
        "many": {"type": "array", "items": {"type": "integer"}},
        "more": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
            "required": ["a"],
            "additionalProperties": False,
        },
    },
    required=("target",),
    is_open=False,
)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"target": "x"}, {"target": "x", "level": 1}),
        ({"target": "3", "level": "7"}, {"target": "3", "level": 7}),
        ({"target": "", "ratio": "0.50"}, {"target": "", "ratio": decimal.Decimal("0.50"), "level": 1}),
        ({"target": "", "ratio": 2}, {"target": "", "ratio": 2, "level": 1}),
        ({"target": "", "is-quick": "True"}, {"target": "", "is-quick": True, "level": 1}),
        ({"target": "", "mode": 3}, {"target": "", "mode": 3, "level": 1}),
        ({"target": "", "either": None}, {"target": "", "either": None, "level": 1}),
        ({"target": "", "many": [1, "2"]}, {"target": "", "many": [1, 2], "level": 1}),
        ({"target": "", "more": {"a": 1}}, {"target": "", "more": {"a": 1, "b": 2}, "level": 1}),
    ],
)
def test_parameters_are_completed(given: JsonObject, found: JsonObject) -> None:
    assert action.complete(BACKUP, given, field="parameters") == found


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "parameters.target: must be given"),
        ({"target": 3}, "parameters.target: must be text, and not a number"),
        ({"target": "", "levle": 1}, "parameters.levle: there is no such parameter; did you mean level?"),
        ({"target": "", "level": "many"}, 'parameters.level: must be a whole number, and not the text "many"'),
        ({"target": "", "level": True}, "parameters.level: must be a whole number, and not true"),
        ({"target": "", "level": 10}, "parameters.level: is 10; it must be at most 9"),
        ({"target": "", "level": -1}, "parameters.level: is -1; it must be at least 0"),
        ({"target": "", "mode": "none"}, 'parameters.mode: must be one of "full", "part", 3'),
        ({"target": "", "either": "x"}, 'parameters.either: must be a whole number or null, and not the text "x"'),
        ({"target": "", "many": [1, "x"]}, "parameters.many[1]: must be a whole number"),
        ({"target": "", "more": {}}, "parameters.more.a: must be given"),
        ({"target": "", "more": {"a": 1, "c": 1}}, "parameters.more.c: there is no such parameter"),
    ],
)
def test_wrong_parameters_are_refused_with_their_path(given: JsonObject, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        action.complete(BACKUP, given, field="parameters")
    assert sentence in str(caught.value)


def test_an_action_takes_others_where_it_does_not_say_so() -> None:
    assert action.complete(Action(name="a"), {"x": "1"}, field="parameters") == {"x": "1"}
    assert action.schema(Action(name="a")) == {}


def test_the_schema_of_an_action_is_one_object() -> None:
    assert action.schema(BACKUP) == {
        "type": "object",
        "properties": dict(BACKUP.parameters),
        "required": ["target"],
        "additionalProperties": False,
    }


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match="action: the charm has no such action; did you mean backup"):
        action.find({"backup": BACKUP}, "back", field="action")


def test_parameters_have_a_bound() -> None:
    with pytest.raises(errors.InvalidField, match="at most 1,048,576 are allowed"):
        action.complete(Action(name="a"), {"x": "a" * 1_048_576}, field="parameters")


def test_a_schema_that_nests_too_deeply_is_refused() -> None:
    text = "{type: object}"
    for _ in range(17):
        text = f"{{type: array, items: {text}}}"
    with pytest.raises(errors.CharmRefused, match="lies in more than 16 schemas; make it plainer"):
        metadata.read_manifest({"charm.yaml": f"name: web\nactions: {{a: {{params: {{b: {text}}}}}}}"})
