"""Whether an event is one of those that a pattern means."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypedDict, TypeVar

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.automation.rule import evaluation, expression, model

logger = logging.getLogger(__name__)
T = TypeVar("T", bound=str)

# Hears of each rule that is skipped for an event, since its condition cannot be evaluated.
OnSkip: TypeAlias = Callable[[str], None]


class Sight(evaluation.Sight):
    """An event as rules see it, with what is known of their conditions."""

    def __init__(self, event: Event, on_skip: OnSkip = lambda rule_name: None) -> None:
        super().__init__(event)
        self._on_skip = on_skip
        self._known: dict[expression.Expression, bool] = {}

    def decide(self, condition: expression.Expression, *, holds: bool) -> None:
        """Note what a condition has come to that was not evaluated here."""
        self._known[condition] = holds

    def truth(self, condition: expression.Expression, *, rule_name: str) -> bool | None:
        """Whether a condition holds; None where that is still to be found out, because it may take long."""
        if condition in self._known:
            return self._known[condition]
        if not self.is_quick([condition]):
            return None
        try:
            holds = condition.truth(condition.value(self.context))
        except expression.ExpressionError as error:
            self.skip(rule_name, error)
            holds = False
        self._known[condition] = holds
        return holds

    def skip(self, rule_name: str, error: expression.ExpressionError) -> None:
        """Log that a condition cannot be evaluated, which counts as if it did not hold."""
        event = self.event
        fields = {"rule": rule_name, "event": event.id, "revision": event.revision, "cause": str(error)}
        logger.warning("a condition cannot be evaluated and does not match", extra=fields)
        self._on_skip(rule_name)


def selects(pattern: model.Pattern, event: Event) -> bool:
    """Whether a pattern means an event, apart from its condition."""
    return not any(
        wanted and found not in wanted
        for wanted, found in (
            (pattern.resource_types, event.resource_type),
            (pattern.event_types, event.event_type),
            (pattern.names, event.name),
        )
    )


def matches(pattern: model.Pattern, sight: Sight, *, rule_name: str) -> bool | None:
    """Whether a pattern means an event; None where its condition is still to be evaluated.

    A condition that cannot be evaluated is logged, and does not match.
    """
    if not selects(pattern, sight.event):
        return False
    return pattern.condition is None or sight.truth(pattern.condition, rule_name=rule_name)


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
