"""The base class of the objects that calls return and events carry: frozen, with a fixed JSON shape."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from tinkwell.client.value import shape
from tinkwell.core.event.kinds import ResourceType

T = TypeVar("T", bound="type[Shaped]")

# The class for the data of events, by type of resource; `resource` adds a class.
_CLASS_OF: dict[ResourceType, "type[Shaped]"] = {}
_TYPE_OF: dict["type[Shaped]", ResourceType] = {}


class Shaped:
    """The base class of model objects, which are frozen dataclasses."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object; absent values are left out."""
        return shape.to_json(self)  # type: ignore[arg-type]  # every subclass is a dataclass

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read the JSON object; raises `InvalidField` that names a key that is missing or of a wrong type."""
        return shape.from_json(cls, data)  # type: ignore[type-var]  # every subclass is a dataclass


def resource(resource_type: ResourceType) -> Callable[[T], T]:
    """Make the decorated class the one for the data of events about this type of resource."""

    def register(kind: T) -> T:
        _CLASS_OF[resource_type] = kind
        _TYPE_OF[kind] = resource_type
        return kind

    return register


def class_of(resource_type: ResourceType) -> type[Shaped] | None:
    """Return the class for a type of resource; None if there is none, as for custom events."""
    return _CLASS_OF.get(resource_type)


def type_of(kind: type[Shaped]) -> ResourceType:
    """Return the type of the resources of a class."""
    return _TYPE_OF[kind]
