"""References to images, by Docker's rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.value import image

DIGEST = "a1" * 32


@pytest.mark.parametrize(
    "text",
    [
        *("hello-world", "a__b", "a--b", "a.b", "a_b", "a-----b", "127.0.0.1:5000/a", "quay.io/x/y:v1", "a:1", "a/b/c"),
        *("localhost/a", "localhost:5000/a:v1", "Registry.Example.com/a", "[::1]:5000/a", "my-registry:80/a/b:_x.y-z"),
        *(f"a@sha256:{DIGEST}", f"quay.io/a/b:v1@sha256:{DIGEST}", f"a:{'x' * 128}", DIGEST[:-1], f"{DIGEST}:v1"),
        *("a" * (255 - len("docker.io/library/")), "a:5000/b"),
    ],
)
def test_a_reference_comes_back_as_it_was_written(text: str) -> None:
    assert image.parse_image("image", text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "A", "a/B", "a b", "a:", "/a", "a/", "a//b", "-a", "a-", "a___b", "http://a/b", f"a:{'x' * 129}"),
        *(
            "a..b",
            "a._b",
            ".a",
            "_a",
            "a:v 1",
            "a:-v",
            "a:.v",
            "a@",
            "a@sha256:12",
            f"a@md5:{DIGEST}",
            "a\n",
            "é",
            "a:5000/",
        ),
        *(f"a@sha256:{DIGEST.upper()}", f"a@sha256:{DIGEST}0", DIGEST, "a.io:x/b", "a:5000/b:", "-a.io/b", "FOO/a"),
        *("a" * (256 - len("docker.io/library/")), "a/" * 200 + "a", "a" * 1_000_000, "a" + "-" * 1_000_000),
    ],
)
def test_what_is_not_a_reference_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField) as refused:
        image.parse_image("image", text)
    assert refused.value.violations[0].field == "image"
    assert len(str(refused.value)) < 400


@given(
    st.from_regex(
        r"[a-z0-9]+(-[a-z0-9]+){0,3}(/[a-z0-9]+([._-][a-z0-9]+){0,3}){0,3}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,20})?",
        fullmatch=True,
    )
)
def test_ordinary_references_are_accepted(text: str) -> None:
    if len(text) < 200 and len(text) != 64:
        assert image.parse_image("image", text) == text
