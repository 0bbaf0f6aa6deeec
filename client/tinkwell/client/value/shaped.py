"""What all objects share that calls return and events carry: frozen, with a fixed JSON shape."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from tinkwell.client.value import shape
from tinkwell.core.event.kinds import ResourceType

T = TypeVar("T", bound="type[Shaped]")

# Which class reads the data of events about which type of resource; each room adds its own.
_CLASS_OF: dict[ResourceType, "type[Shaped]"] = {}
_TYPE_OF: dict["type[Shaped]", ResourceType] = {}


class Shaped:
    """The base of these objects, which are frozen dataclasses."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Give the JSON object; absent values are left out."""
        return shape.to_json(self)  # type: ignore[arg-type]  # every subclass is a dataclass

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Read the JSON object; raises `InvalidField` naming a key that is missing or of a wrong type."""
        return shape.from_json(cls, data)  # type: ignore[type-var]  # every subclass is a dataclass


def resource(resource_type: ResourceType) -> Callable[[T], T]:
    """Let events about this type of resource hold the decorated class."""

    def register(kind: T) -> T:
        _CLASS_OF[resource_type] = kind
        _TYPE_OF[kind] = resource_type
        return kind

    return register


def class_of(resource_type: ResourceType) -> type[Shaped] | None:
    """Return the class of resources of a type; None for what has none, such as a custom event."""
    return _CLASS_OF.get(resource_type)


def type_of(kind: type[Shaped]) -> ResourceType:
    """Return the type of the resources of a class."""
    return _TYPE_OF[kind]
