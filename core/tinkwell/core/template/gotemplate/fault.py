"""Mistakes in a Go template, or in its values."""


class Fault(Exception):
    """A mistake at an offset of the template's text.

    `key` is the path of the faulty value if the values are wrong. It is empty if the path is not known, and None if the
    template is wrong.
    """

    def __init__(self, description: str, *, offset: int, key: tuple[str, ...] | None = None) -> None:
        self.description = description
        self.offset = offset
        self.key = key
        super().__init__(description)


class BadArgument(Exception):
    """A function of the template language cannot work with its arguments; the text says why.

    `is_value`: the values are wrong, and not the template.
    """

    def __init__(self, description: str, *, is_value: bool = False) -> None:
        self.is_value = is_value
        super().__init__(description)
