"""JSON pointers: what they name, and what is no pointer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.value import pointer


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # The examples of RFC 6901.
        ("", ()),
        ("/foo", ("foo",)),
        ("/foo/0", ("foo", "0")),
        ("/", ("",)),
        ("/a~1b", ("a/b",)),
        ("/c%d", ("c%d",)),
        ("/e^f", ("e^f",)),
        ("/g|h", ("g|h",)),
        ("/i\\j", ("i\\j",)),
        ('/k"l', ('k"l',)),
        ("/ ", (" ",)),
        ("/m~0n", ("m~n",)),
        ("/~01", ("~1",)),
    ],
)
def test_a_pointer_names_what_the_standard_says(text: str, parts: tuple[str, ...]) -> None:
    assert pointer.parse_pointer("p", text) == parts
    assert pointer.write_pointer(parts) == text


@pytest.mark.parametrize("text", ["foo", "#/foo", "/foo~", "/foo~2", "~0"])
def test_what_is_no_pointer_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"^p\[0\]: .* is not a JSON pointer"):
        pointer.parse_pointer("p[0]", text)


@given(st.lists(st.text()))
def test_a_place_survives_a_round_trip(parts: list[str]) -> None:
    assert pointer.parse_pointer("p", pointer.write_pointer(parts)) == tuple(parts)
