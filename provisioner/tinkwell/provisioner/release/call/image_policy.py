"""Which images may run for releases. The policy covers the image of every call."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.value import image, parse


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """Regular expressions, one of which must match an image's whole reference; an empty policy allows every image."""

    allowed: "Sequence[re.Pattern[str]]" = ()

    def check(self, field: str, reference: str) -> str:
        """Return the reference; raises `errors.InvalidField` if it is no image reference or is not allowed."""
        image.parse_image(field, reference)
        if self.allowed and not any(pattern.fullmatch(reference) for pattern in self.allowed):
            patterns = ", ".join(pattern.pattern for pattern in self.allowed)
            raise errors.InvalidField.of(
                field, f"the image {parse.show(reference)} is not allowed here; it must match {patterns}"
            )
        return reference


def parse_allowed(text: str) -> "re.Pattern[str]":
    """Parse the value of --image-allow; raises `errors.InvalidField`."""
    try:
        return re.compile(text)
    except re.error as error:
        message = f"{parse.show(text)} is no regular expression: {error}"
        raise errors.InvalidField.of("image-allow", message) from error
