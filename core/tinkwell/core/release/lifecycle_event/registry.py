"""The implementations of a process's core events, and the installed functions that hear the other events.

A core event has exactly one implementation: an object with one method. A fault in a registry is a fault of the program
or of an installed package, so the program reports it in one sentence when it starts.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from tinkwell.core import errors
from tinkwell.core.release.lifecycle_event import name, order
from tinkwell.core.release.lifecycle_event.name import CoreEvent, Event
from tinkwell.core.value import closed_object, parse

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])
_FIELD = "lifecycle"


class WrongRegistry(errors.TinkwellError):
    """The events of this process are not implemented as they must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Generic[F]):
    """A function that hears an event. `origin` is "", because no chart has brought it; `file` is its entry point.

    `ordinal` counts all registered functions.
    """

    event: Event
    weight: float
    function: F
    file: str
    line: int
    ordinal: int
    origin: str = ""


class Registry(Generic[F]):
    """The implementations of the core events that a process needs, and the functions that hear other events."""

    def __init__(self, needed: Collection[CoreEvent]) -> None:
        self._needed = frozenset(needed)
        self._implementations: dict[CoreEvent, object] = {}
        self._listeners: list[Listener[F]] = []

    @property
    def listeners(self) -> tuple[Listener[F], ...]:
        """All functions, in the order of their registration."""
        return tuple(self._listeners)

    def implement(self, event: str, implementation: object) -> None:
        """Register the implementation of a core event; raises `WrongRegistry` for a second one."""
        known = [each.value for each in CoreEvent]
        if event not in known:
            nearest = closed_object.nearest(event, known)
            raise WrongRegistry(f"{parse.show(event)} is not a core event; {nearest}")
        core = CoreEvent(event)
        if core in self._implementations:
            both = f"{_describe(self._implementations[core])} and {_describe(implementation)}"
            raise WrongRegistry(f"{core} has two implementations, {both}; it must have one")
        methods = _methods(implementation)
        if len(methods) != 1:
            found = f"has {len(methods)} methods: {', '.join(methods)}" if methods else "has no method"
            raise WrongRegistry(f"{_describe(implementation)}, which is to carry out {core}, {found}; it must have one")
        self._implementations[core] = implementation

    def on(self, event: str, weight: float, function: F, *, origin: str) -> None:
        """Register a function for an event; raises `WrongRegistry` for an unknown event and for a wrong weight.

        `origin` is the name of the entry point that registers it.
        """
        try:
            heard = name.parse_event(_FIELD, event)
            checked = order.parse_weight(_FIELD, weight)
        except errors.InvalidField as error:
            raise WrongRegistry(f"the entry point {origin}: {error.violations[0].description}") from error
        if heard.subchart:
            why = f"{parse.show(event)} names a subchart, which a function of no chart has not; leave out the colon"
            raise WrongRegistry(f"the entry point {origin}: {why}")
        code = getattr(function, "__code__", None)
        self._listeners.append(
            Listener(
                event=heard.event,
                weight=checked,
                function=function,
                file=origin,
                line=code.co_firstlineno if code is not None else 0,
                ordinal=len(self._listeners),
            )
        )

    def check(self) -> None:
        """Check that each needed core event has an implementation; raises `WrongRegistry`."""
        missing = [event.value for event in CoreEvent if event in self._needed and event not in self._implementations]
        if missing:
            have = "has no implementation" if len(missing) == 1 else "have no implementation"
            raise WrongRegistry(f"{' and '.join(missing)} {have} in this process; each must have one")

    def find(self, event: CoreEvent, kind: type[T]) -> T:
        """Return the implementation of a core event; raises `WrongRegistry` if it is not of this kind."""
        found = self._implementations.get(event)
        if not isinstance(found, kind):
            raise WrongRegistry(f"{event} is to be carried out by {kind.__name__}, and not by {_describe(found)}")
        return found


def _methods(implementation: object) -> list[str]:
    found = inspect.getmembers(type(implementation), callable)
    return [method for method, _ in found if not method.startswith("_")]


def _describe(implementation: object) -> str:
    return type(implementation).__name__ if implementation is not None else "nothing"
