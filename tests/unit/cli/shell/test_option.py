"""The values of options."""

import decimal

import pytest
import rich_click as click

from tinkwell.cli.shell import option
from tinkwell.core.event.kinds import EventType


@pytest.mark.parametrize("text", ["WORKFLOW_TIMEOUT", "workflow_timeout", "workflow-timeout", "Workflow-Timeout "])
def test_a_member_is_found_in_any_case_with_dashes_or_underscores(text: str) -> None:
    assert option.Member(EventType).convert(text, None, None) is EventType.WORKFLOW_TIMEOUT


@pytest.mark.parametrize(
    ("text", "hint"), [("workflow-tmeout", "did you mean WORKFLOW_TIMEOUT"), ("zzz", "choose from CREATED, UPDATED")]
)
def test_an_unknown_member_is_answered_with_what_could_be_meant(text: str, hint: str) -> None:
    with pytest.raises(click.BadParameter, match=hint):
        option.Member(EventType).convert(text, None, None)


@pytest.mark.parametrize(("begun", "offered"), [("hardware-", "hardware_phone_home"), ("HARD", "HARDWARE_PHONE_HOME")])
def test_members_are_offered_in_the_case_that_was_begun(begun: str, offered: str) -> None:
    context = click.Context(click.Command("x"))
    parameter = click.Option(["--x"])
    found = option.Member(EventType).shell_complete(context, parameter, begun)
    assert [item.value for item in found] == [offered]


def test_a_json_object_keeps_its_numbers_as_they_are_written() -> None:
    assert option.JsonObject().convert('{"a": 1.10}', None, None) == {"a": decimal.Decimal("1.10")}


@pytest.mark.parametrize("text", ["[]", "1", "", "{", '{"a": 1, "a": 2}', '{"a": NaN}'])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        option.JsonObject().convert(text, None, None)


def test_an_assignment_is_split_at_its_first_equals_sign() -> None:
    assert option.Assignment().convert("a=b=c", None, None) == ("a", "b=c")


@pytest.mark.parametrize("text", ["a", "=b", "a=", "="])
def test_half_an_assignment_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="NAME=VALUE"):
        option.Assignment().convert(text, None, None)
