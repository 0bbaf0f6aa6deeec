"""Which images may run for releases: every image of a call is looked at, whoever has named it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.value import image, parse


@dataclass(frozen=True, slots=True)
class ImagePolicy:
    """The regular expressions of which one must match the whole reference of an image; none of them allow all."""

    allowed: "Sequence[re.Pattern[str]]" = ()

    def check(self, field: str, reference: str) -> str:
        """Return a reference; raises `errors.InvalidField` for what is none, and for that of an image not allowed."""
        image.parse_image(field, reference)
        if self.allowed and not any(pattern.fullmatch(reference) for pattern in self.allowed):
            patterns = ", ".join(pattern.pattern for pattern in self.allowed)
            raise errors.InvalidField.of(
                field, f"the image {parse.show(reference)} is not allowed here; it must match {patterns}"
            )
        return reference


def parse_allowed(text: str) -> "re.Pattern[str]":
    """Parse what the operator wrote after --image-allow; raises `errors.InvalidField`."""
    try:
        return re.compile(text)
    except re.error as error:
        message = f"{parse.show(text)} is no regular expression: {error}"
        raise errors.InvalidField.of("image-allow", message) from error
