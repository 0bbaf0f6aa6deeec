"""Expressions, and texts with expressions in them."""

import json
from typing import Any

import pytest
from unit.provisioner.automation.sample import event

from tinkwell.provisioner.automation.rule import checking, evaluation, expression
from tinkwell.provisioner.automation.rule.expression import Expression, ExpressionError, Text


def complaint(text: str) -> str:
    return checking.complaints([Expression(text)])[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 +", "'1 +' is no CEL expression: "),
        ("(" * 600 + "1" + ")" * 600, "is no CEL expression: "),
        ("'" * 3, "is no CEL expression: "),
        ("evnt.id == ''", "\"evnt.id == ''\": Undefined variable or function: 'evnt'"),
        ("nothing(1)", "'nothing(1)': Undefined variable or function: 'nothing'"),
        ("event.x.exists(i, j == i)", ""),
        ("event.id == '' && has(event.data.x)", ""),
    ],
)
def test_what_is_no_expression_is_told(text: str, told: str) -> None:
    found = complaint(text)
    assert told in found
    assert bool(told) is bool(found)


@pytest.mark.parametrize("text", ["", "  ", "x" * 10_001])
def test_an_expression_is_neither_empty_nor_endless(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    [
        'event.data.template_name != "recovery"',
        "event.resource_type in ['WORKFLOW', 'ACTION'] && !(event.version > 3)",
        "has(event.data.cause) && event.data.cause.reason.startsWith('limit')",
        "event.data.items[0].size() > 2 ? 'a' + string(event.revision) : 'b'",
        "size(event.data.name) % 2 == 0 || event.data.name.contains('x') || event.data.name.endsWith('y')",
    ],
)
def test_what_reads_an_event_once_is_quick(text: str) -> None:
    assert Expression(text).quick_weight > 1_000


@pytest.mark.parametrize(
    "text",
    [
        "event.data.items.filter(i, true) == []",
        "event.data.items.all(i, true)",
        "event.data.items.exists(i, true)",
        "event.data.items.exists_one(i, true)",
        "event.data.items.filter(event, true) == []",
        "event.data.items. filter // .\n //\n (i, true) == []",
    ],
)
def test_what_looks_at_each_item_is_quick_for_small_events_alone(text: str) -> None:
    assert complaint(text) == ""
    assert 100 < Expression(text).quick_weight < 320


@pytest.mark.parametrize(
    "text",
    [
        "event.data.items.map(i, event.data.items.map(j, 1)) == []",
        "event.data.items.map(i, event.data.items) == event.data.items",
        "event.data.name.matches('a+')",
        "event.data.name.matches(event.data.name)",
        "'a //' + event.data.name == '' || event.data.name.matches(event.data.name)",
        "duration(event.data.name) == duration('1s')",
        "event.a == 1" + " || event.a == 1" * 100,
    ],
)
def test_what_may_take_long_is_not_quick(text: str) -> None:
    assert complaint(text) == ""
    # No event is so small.
    assert Expression(text).quick_weight < evaluation.Sight(event(7)).weight


def test_the_more_often_an_expression_names_the_event_the_smaller_that_must_be() -> None:
    often = Expression(" || ".join(["event.a == 1"] * 20))
    assert Expression("event.a == 1").quick_weight == 2 * often.quick_weight


@pytest.mark.parametrize(
    ("view", "weight"),
    [({}, 1), ({"a": 1}, 3), ({"a": [1, 2, {"b": None}]}, 8), ({"a": "x" * 320}, 13), ([[[]]], 3)],
)
def test_the_weight_of_an_event_is_what_there_is_to_look_at(view: Any, weight: int) -> None:
    assert expression.weight(view, 1_000) == weight


def test_weighing_ends_as_soon_as_it_is_too_much() -> None:
    endless: list[Any] = [*range(1_000)]
    endless.append(endless)
    assert 1_000 < expression.weight(endless, 1_000) < 1_100


def fill(node: Any, *values: Any) -> Any:
    return expression.filled(expression.read_json(node), iter(values))


def test_a_text_is_filled_in_and_what_is_only_an_expression_keeps_its_kind() -> None:
    node: Any = {"text": "{{ event.data.count }} of {{event.data.name}}", "all": ["{{ event.data.cause }}", 1]}
    texts = [each.text for each in expression.expressions_of(expression.read_json(node))]
    assert texts == ["event.data.count", "event.data.name", "event.data.cause"]
    filled = fill(node, 3, 'a "quoted" one', {"reason": "limit"})
    assert filled == {"text": '3 of a "quoted" one', "all": [{"reason": "limit"}, 1]}
    assert json.loads(json.dumps(filled)) == filled


@pytest.mark.parametrize("text", ["{{ event.id", "event.id }}", "{{ }}", "}}{{"])
def test_a_broken_text_is_refused_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        Text(text)


@pytest.mark.parametrize("text", ["{{ event. }}", "{{{{ 1 }}", "a {{ 1 + }} b"])
def test_a_text_with_a_broken_expression_is_told_of(text: str) -> None:
    assert "is no CEL expression" in complaint(Text(text).expressions[0].text)


def test_a_key_that_looks_as_if_it_was_filled_in_is_refused() -> None:
    with pytest.raises(ExpressionError, match="keys are not filled in"):
        expression.read_json({"a": [{"{{ event.id }}": 1}]})


def test_a_literal_text_stands_for_itself() -> None:
    text = Text.literal("{{ no }} }}")
    assert text.expressions == []
    assert text.filled(iter(())) == "{{ no }} }}"
