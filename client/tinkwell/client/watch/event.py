"""Events, as watches hand them out."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from tinkwell.client.value import shape, shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import EventType, ResourceType


class _Unread:
    """Holds the text of a field `data` until somebody asks for it: reading it is half of what an event costs."""

    __slots__ = ("_text",)
    _text: str

    def __getattr__(self, name: str) -> Any:
        # Python asks here for what is not set.
        if name != "data":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        data = shape.parse(self._text) or {}
        object.__setattr__(self, "data", data)
        return data


@dataclass(frozen=True, slots=True)
class Event(Shaped, _Unread):
    """One change of one resource; `data` is the resource after it, the last known state for DELETED.

    A type that this release does not know reads as UPDATED, a resource type as CUSTOM; `name` always tells. Data that
    is no JSON, which no server sends, raises `errors.Error` where it is used.
    """

    id: str
    revision: int
    resource_type: ResourceType
    event_type: EventType
    name: str
    resource_id: str = field(default="", metadata=shape.OPTIONAL)
    parent_id: str = field(default="", metadata=shape.OPTIONAL)
    version: int = 0
    created_at: datetime | None = None
    actor: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def unread(cls, text: str, *values: object) -> "Event":
        """Make an event of the text of its data, and its other fields in their order."""
        event = object.__new__(cls)
        for put, value in zip(_PUTS, (*values, text), strict=True):
            put(event, value)
        return event

    @property
    def resource(self) -> Shaped | None:
        """The resource that `data` holds, as an object of its class, such as `Workflow`; None for a custom event."""
        kind = shaped.class_of(self.resource_type)
        return kind.from_json(self.data) if kind is not None else None

    @property
    def is_synthetic(self) -> bool:
        """Whether an informer made this event up from a list, to tell what changed while no events could be had."""
        return not self.id


# What fills the slots of an event, the text of its data last; a frozen object's own way takes twice as long.
_NAMES = (field.name for field in fields(Event) if field.name != "data")


_PUTS = (*(vars(Event)[name].__set__ for name in _NAMES), vars(_Unread)["_text"].__set__)
