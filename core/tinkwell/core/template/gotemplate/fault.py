"""What is wrong with a Go template, or with the values it is given."""


class Fault(Exception):
    """A mistake at an offset of the template's text.

    `key` is the path of the value at fault, where the values are wrong and not the template; it is empty where the path
    is not known, and None where the template is wrong.
    """

    def __init__(self, description: str, *, offset: int, key: tuple[str, ...] | None = None) -> None:
        self.description = description
        self.offset = offset
        self.key = key
        super().__init__(description)


class BadArgument(Exception):
    """A function of the template language cannot work with what it is given; the text says why.

    `is_value` tells that the values are wrong rather than the template.
    """

    def __init__(self, description: str, *, is_value: bool = False) -> None:
        self.is_value = is_value
        super().__init__(description)
