"""Options: the settings of an application's configuration."""

from typing import Generic, Self, TypeVar, cast, overload

from tinkwell.charm import errors
from tinkwell.charm.declaration import Holder
from tinkwell.core.charm.record import OptionType

V = TypeVar("V", str, int, float, bool)
T = TypeVar("T")

TYPES: dict[type, OptionType] = {
    str: OptionType.STRING,
    int: OptionType.INT,
    float: OptionType.FLOAT,
    bool: OptionType.BOOLEAN,
}


class Option(Generic[T]):
    """An option of the application. Reading it as an attribute of a charm gives its value.

        workers = charm.Option(int, default=2)
        title = charm.Option(str)               # a str, or None where it is not set

    Its name is that of the attribute. `kind` is str, int, float or bool; `minimum` and `maximum` are for numbers.
    """

    @overload
    def __init__(
        self: "Option[V]",
        kind: type[V],
        *,
        default: V,
        description: str = ...,
        minimum: float | None = ...,
        maximum: float | None = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: "Option[V | None]",
        kind: type[V],
        *,
        default: None = ...,
        description: str = ...,
        minimum: float | None = ...,
        maximum: float | None = ...,
    ) -> None: ...

    def __init__(
        self,
        kind: type,
        *,
        default: object = None,
        description: str = "",
        minimum: float | None = None,
        maximum: float | None = None,
    ) -> None:
        if kind not in TYPES:
            raise errors.DeclarationError(f"an option is a str, int, float or bool, not {kind.__name__}")
        self.type = TYPES[kind]
        self.default = default
        self.description = description
        self.minimum = minimum
        self.maximum = maximum
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, charm: None, owner: type) -> Self: ...

    @overload
    def __get__(self, charm: Holder, owner: type) -> T: ...

    def __get__(self, charm: Holder | None, owner: type) -> Self | T:
        """Return the option's value for this event; read from the class, the option itself."""
        if charm is None:
            return self
        value = charm.situation.attempt.config.get(self.name, self.default)
        # In JSON, 2 and 2.0 are the same number.
        return cast(T, float(value) if self.type is OptionType.FLOAT and isinstance(value, int) else value)

    def __set__(self, charm: Holder, value: object) -> None:
        """Refuse: only users set options."""
        raise errors.CharmError(f"option {self.name} cannot be set by its charm")
