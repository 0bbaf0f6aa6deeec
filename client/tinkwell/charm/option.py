"""Options: what an application's configuration may say."""

from typing import Generic, Self, TypeVar, cast, overload

from tinkwell.charm import errors
from tinkwell.charm.declaration import Holder

V = TypeVar("V", str, int, float, bool)
T = TypeVar("T")

# The names of types in charm.yaml.
TYPES: dict[type, str] = {str: "string", int: "int", float: "float", bool: "boolean"}


class Option(Generic[T]):
    """An option of the application, whose value an attribute of a charm is.

        workers = charm.Option(int, default=2)
        title = charm.Option(str)               # a str, or None where it is not set

    It is called as its attribute is, with dashes for underscores. `kind` is str, int, float or bool.
    """

    @overload
    def __init__(self: "Option[V]", kind: type[V], *, default: V, description: str = ...) -> None: ...

    @overload
    def __init__(self: "Option[V | None]", kind: type[V], *, default: None = ..., description: str = ...) -> None: ...

    def __init__(self, kind: type, *, default: object = None, description: str = "") -> None:
        if kind not in TYPES:
            raise errors.DeclarationError(f"an option is a str, int, float or bool, not {kind.__name__}")
        self.kind = kind
        self.default = default
        self.description = description
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", "-")

    @overload
    def __get__(self, charm: None, owner: type) -> Self: ...

    @overload
    def __get__(self, charm: Holder, owner: type) -> T: ...

    def __get__(self, charm: Holder | None, owner: type) -> Self | T:
        """Return the option's value for this event; in the class the declaration itself."""
        if charm is None:
            return self
        value = charm.situation.attempt.config.get(self.name, self.default)
        # In documents 2 and 2.0 are the same number.
        return cast(T, float(value) if self.kind is float and isinstance(value, int) else value)

    def __set__(self, charm: Holder, value: object) -> None:
        """Refuse: only people set options."""
        raise errors.CharmError(f"option {self.name} cannot be set by its charm")
