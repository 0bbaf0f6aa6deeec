"""Whether an event is one of those that a pattern means."""

import functools
import logging
from collections.abc import Sequence
from typing import TypedDict, TypeVar

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.automation.rule import expression, model

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=str)


class Sight:
    """An event, and its JSON shape, which is made once and only where a condition asks for it."""

    def __init__(self, event: Event) -> None:
        self.event = event

    @functools.cached_property
    def view(self) -> expression.View:
        """The event as expressions see it."""
        return self.event.to_json()


def matches(pattern: model.Pattern, sight: Sight, *, rule_name: str) -> bool:
    """Whether a pattern means an event; a condition that cannot be evaluated is logged, and does not match."""
    event = sight.event
    for wanted, found in (
        (pattern.resource_types, event.resource_type),
        (pattern.event_types, event.event_type),
        (pattern.names, event.name),
    ):
        if wanted and found not in wanted:
            return False
    if pattern.condition is None:
        return True
    try:
        return pattern.condition.holds(sight.view)
    except expression.ExpressionError as error:
        fields = {"rule": rule_name, "event": event.id, "revision": event.revision, "cause": str(error)}
        logger.warning("a condition cannot be evaluated and does not match", extra=fields)
        return False


class Wanted(TypedDict):
    """What a watch is asked for."""

    resource_types: list[ResourceType]
    event_types: list[EventType]
    names: list[str]


def wanted_of(patterns: Sequence[model.Pattern]) -> Wanted:
    """Return a selection that leaves out nothing that any pattern means."""
    return {
        "resource_types": _union([pattern.resource_types for pattern in patterns]),
        "event_types": _union([pattern.event_types for pattern in patterns]),
        "names": _union([pattern.names for pattern in patterns]),
    }


def _union(sets: Sequence[frozenset[T]]) -> list[T]:
    # One that means all makes all wanted.
    return sorted(frozenset().union(*sets)) if all(sets) else []
