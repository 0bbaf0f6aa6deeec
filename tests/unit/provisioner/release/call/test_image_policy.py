"""Which images may run for releases."""

import pytest

from tinkwell.core import errors
from tinkwell.provisioner.release.call import image_policy


def _policy(*patterns: str) -> image_policy.ImagePolicy:
    return image_policy.ImagePolicy(tuple(map(image_policy.parse_allowed, patterns)))


def test_without_a_policy_every_reference_is_allowed() -> None:
    _policy().check("type", "quay.io/x/y:1")


def test_what_is_no_reference_is_refused_in_any_case() -> None:
    with pytest.raises(errors.InvalidField, match=r"type: .* is not an image"):
        _policy().check("type", "https://quay.io/x")


def test_one_of_the_expressions_must_match_all_of_the_reference() -> None:
    policy = _policy("registry/.*", r".*@sha256:[0-9a-f]{64}")
    policy.check("type", "registry/x:1")
    policy.check("type", f"elsewhere/x@sha256:{'0' * 64}")
    with pytest.raises(errors.InvalidField, match='type: the image "elsewhere/registry/x:1" is not allowed here'):
        policy.check("type", "elsewhere/registry/x:1")


def test_an_expression_that_is_none_is_refused() -> None:
    with pytest.raises(errors.InvalidField, match=r"image-allow: .* is no regular expression"):
        image_policy.parse_allowed("(")
