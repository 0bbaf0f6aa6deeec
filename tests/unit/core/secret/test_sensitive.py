"""Which places are sensitive, as authors and callers say."""

import pytest

from tinkwell.core import errors
from tinkwell.core.secret import sensitive
from tinkwell.core.value.document import JsonObject


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


def test_pointers_to_what_is_there_are_taken() -> None:
    document: JsonObject = {"db": {"password": "hunter22"}, "a/b": [None, 1]}
    pointers = ["/db/password", "/a~1b/1", ""]
    assert sensitive.parse_pointers("secret_values", pointers, document) == tuple(pointers)


@pytest.mark.parametrize(
    ("pointer", "told"),
    [
        ("/db/passwrod", r'there is no value at "/db/passwrod" to keep secret'),
        ("/list/0", "there is no value at"),
        ("/list/7", "there is no value at"),
        ("db", "is not a JSON pointer"),
        ("/a~2", "is not a JSON pointer"),
    ],
)
def test_a_pointer_to_nothing_is_refused_by_its_place(pointer: str, told: str) -> None:
    document: JsonObject = {"db": {"password": "hunter22"}, "list": [None]}
    with pytest.raises(errors.InvalidField, match=told) as caught:
        sensitive.parse_pointers("secret_values", ["/db", pointer], document)
    assert [violation.field for violation in caught.value.violations] == ["secret_values[1]"]
