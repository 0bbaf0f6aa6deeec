"""Errors of expressions."""


class Fault(Exception):
    """An expression cannot be evaluated; `reason` says why, in words that can follow the expression."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Unknown(Fault):
    """An expression uses a name that does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"there is no {name} here")
