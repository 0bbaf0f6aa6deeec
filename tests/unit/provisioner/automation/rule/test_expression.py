"""Expressions and templates."""

import pytest
from unit.provisioner.automation.sample import event

from tinkwell.provisioner.automation.rule.expression import Expression, ExpressionError, Text, compile_json, fill_in

VIEW = event(7, data={"name": 'a "quoted" one', "count": 3, "cause": {"reason": "limit"}}).to_json()


def test_a_condition_sees_the_event() -> None:
    assert Expression("event.name == 'workflow.timeout' && event.revision > 6").holds(VIEW)
    assert not Expression("event.data.count > 3").holds(VIEW)


@pytest.mark.parametrize("text", ["", "1 +", "(" * 600 + "1" + ")" * 600, "evnt.id == ''", "nothing(1)", "'" * 3])
def test_what_is_no_expression_is_refused_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize("text", ["event.data.missing == 1", "event.data.count", "1 / 0 == 1", "event.data.name > 1"])
def test_a_condition_that_does_not_fit_the_event_says_so(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text).holds(VIEW)


def test_a_text_is_filled_in_and_what_is_only_an_expression_keeps_its_kind() -> None:
    node = compile_json({"text": "{{ event.data.count }} of {{event.data.name}}", "all": ["{{ event.data.cause }}", 1]})
    assert fill_in(node, VIEW) == {"text": '3 of a "quoted" one', "all": [{"reason": "limit"}, 1]}
    assert Text("{{ event.data.count }}").string(VIEW) == "3"


@pytest.mark.parametrize("text", ["{{ event.id", "event.id }}", "{{ }}", "{{ event. }}"])
def test_a_broken_template_is_refused_at_once(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_json({"text": [text]})


@pytest.mark.parametrize("text", ["{{ double('inf') }}", "{{ b'bytes' }}", "{{ event.missing }}"])
def test_what_json_cannot_hold_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        Text(text).value(VIEW)
