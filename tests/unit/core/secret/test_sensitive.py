"""Which places are sensitive, as authors and callers say."""

import pytest

from tinkwell.core import errors
from tinkwell.core.secret import sensitive


def test_pointers_are_taken_as_they_are() -> None:
    assert sensitive.parse_pointers("sensitive", ["/a/0", "", "/b~1c"]) == ("/a/0", "", "/b~1c")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("/a", r"sensitive: must be a list of JSON pointers, such as"),
        ([1], r"sensitive: must be a list of JSON pointers"),
        ({"a": 1}, r"sensitive: must be a list of JSON pointers"),
        (None, r"sensitive: must be a list of JSON pointers"),
        (["/a", "b", "~"], r"sensitive\[1\]: .*; sensitive\[2\]: "),
        (["/a"] * 1_001, r"sensitive: has 1,001 pointers; at most 1,000 are allowed"),
    ],
)
def test_what_is_no_list_of_pointers_is_refused(given: object, message: str) -> None:
    with pytest.raises(errors.InvalidField, match=message):
        sensitive.parse_pointers("sensitive", given)


def test_pointers_of_a_part_become_pointers_of_the_whole() -> None:
    assert sensitive.within(("resources", "a/b", "config"), ["", "/c~0d"]) == (
        "/resources/a~1b/config",
        "/resources/a~1b/config/c~0d",
    )


def test_names_of_variables_become_pointers() -> None:
    assert sensitive.parse_names("secret_variables", ["a/b", "c"], {"a/b": 1, "c": 2, "d": 3}) == ("/a~1b", "/c")


def test_a_name_that_no_variable_has_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match=r'^secret_variables\[1\]: there is no variable "passwrod" to keep'):
        sensitive.parse_names("secret_variables", ["user", "passwrod"], {"user": 1, "password": 2})
