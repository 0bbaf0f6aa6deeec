"""Names of releases may be parts of hosts' names."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release import name


@pytest.mark.parametrize("text", ["a", "0", "shop", "shop-2", "a" * 53, "a--b"])
def test_a_label_is_a_name(text: str) -> None:
    assert name.parse_name("name", text) == text
    assert name.parse_namespace("namespace", text) == text


@pytest.mark.parametrize("text", ["-", "-a", "a-", "A", "a_b", "a.b", "a b", "a\n", "ä", "a" * 54])
def test_anything_else_is_refused_with_what_to_do(text: str) -> None:
    for parse in (name.parse_name, name.parse_namespace):
        with pytest.raises(errors.InvalidField, match="is not a name; use a-z, 0-9 and -"):
            parse("name", text)


def test_an_empty_namespace_is_the_default_one() -> None:
    assert name.parse_namespace("namespace", "") == "default"
    with pytest.raises(errors.InvalidField):
        name.parse_name("name", "")
