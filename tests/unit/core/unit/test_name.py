"""The names of applications, units and storages."""

import pytest

from tinkwell.core import errors
from tinkwell.core.unit import name


@pytest.mark.parametrize("text", ["web", "a", "web-2a", "my-app", "a" * 53])
def test_names_of_applications(text: str) -> None:
    assert name.parse_application("name", text) == text


@pytest.mark.parametrize(
    "text", ["", "Web", "2web", "web-2", "web-", "-web", "we--b", "web/0", "a" * 54, "wéb", "web\n"]
)
def test_what_is_no_name_of_an_application(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="is not the name of an application; begin with a letter"):
        name.parse_application("name", text)


@pytest.mark.parametrize("text", ["web/0", "web-b/12"])
def test_names_of_units(text: str) -> None:
    assert name.parse_unit("unit", text) == text


@pytest.mark.parametrize("text", ["web", "web/", "/0", "web/01", "web/-1", "web/0/1", "web/1234567890", "web-2/0"])
def test_what_is_no_name_of_a_unit(text: str) -> None:
    with pytest.raises(errors.InvalidField, match="write application/number, such as web/0"):
        name.parse_unit("unit", text)


def test_units_are_ordered_by_their_application_and_number() -> None:
    assert sorted(["web/10", "web/9", "a/11", "web-b/0"], key=name.order) == ["a/11", "web/9", "web/10", "web-b/0"]


def test_a_name_is_put_together_and_taken_apart() -> None:
    unit = name.unit_name("web", 7)
    assert (unit, name.application_of(unit), name.number_of(unit)) == ("web/7", "web", 7)
