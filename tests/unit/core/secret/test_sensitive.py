"""Which places are sensitive, as authors and callers say."""

import pytest

from tinkwell.core import errors
from tinkwell.core.secret import sensitive


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
