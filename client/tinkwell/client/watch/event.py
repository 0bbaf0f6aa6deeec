"""Events, as watches return them."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from tinkwell.client.value import shape, shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import EventType, ResourceType


class _Unread:
    """Holds the field `data` as text, and parses it when it is first read: parsing is half of the work for an event."""

    __slots__ = ("_text",)
    _text: str

    def __getattr__(self, name: str) -> Any:
        # Python calls this for attributes that are not set.
        if name != "data":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        data = shape.parse(self._text) or {}
        object.__setattr__(self, "data", data)
        return data


@dataclass(frozen=True, slots=True)
class Event(Shaped, _Unread):
    """One change of one resource; `data` is the resource after it, the last known state for DELETED.

    An event type that this release does not know reads as UPDATED, such a resource type as CUSTOM; `name` has the
    server's name of the event. Reading `data` that is no JSON, which no server sends, raises `errors.Error`.
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
        """Make an event from the text of its data and its other fields, in the order of the class."""
        event = object.__new__(cls)
        for put, value in zip(_PUTS, (*values, text), strict=True):
            put(event, value)
        return event

    @property
    def resource(self) -> Shaped | None:
        """`data` as an object of the resource's class, such as `Workflow`; None for a custom event."""
        kind = shaped.class_of(self.resource_type)
        return kind.from_json(self.data) if kind is not None else None

    @property
    def is_synthetic(self) -> bool:
        """Whether an informer made this event from a list, for a change whose own event it could not get."""
        return not self.id


# Functions that set the slots of an event, the text of its data last. `object.__setattr__` takes twice as long.
_NAMES = (field.name for field in fields(Event) if field.name != "data")


_PUTS = (*(vars(Event)[name].__set__ for name in _NAMES), vars(_Unread)["_text"].__set__)
