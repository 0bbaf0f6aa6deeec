"""The parts of a charm class: handlers, and declarations that have a name."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Generic, Protocol, TypeVar, cast

from tinkwell.charm import errors, event
from tinkwell.charm.attempt.situation import Situation
from tinkwell.core.unit.kinds import EventKind

C = TypeVar("C")
E = TypeVar("E", bound=event.Event)

Function = Callable[[C, E], Coroutine[object, object, None]]

# The attribute of a function that holds the subjects that it handles.
_MARK = "__tinkwell_hears__"


class Holder(Protocol):
    """The part of a charm that its declarations use."""

    @property
    def situation(self) -> Situation:
        """The data and objects of one event."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The events that a handler handles: a kind, and for relations and storages the name of the endpoint or storage."""

    kind: EventKind
    name: str = ""


class Hook(Generic[E]):
    """A decorator that makes a method a handler of one kind of event; a method may have several."""

    def __init__(self, kind: type[E], name: str = "") -> None:
        self._subject = Subject(kind.kind, name)

    def __call__(self, function: Function[C, E]) -> Function[C, event.Event]:
        """Register a method. Handlers of a kind are called in the order of the class.

        The function itself is returned. Its return type says that it takes any event, so that other decorators accept
        it.
        """
        name = getattr(function, "__name__", repr(function))
        if not iscoroutinefunction(function):
            raise errors.DeclarationError(f"{name} handles {self._subject.kind}, so it must be declared by async def")
        setattr(function, _MARK, (self._subject, *heard(function)))
        return cast(Function[C, event.Event], function)


def heard(function: object) -> tuple[Subject, ...]:
    """Return the subjects that a function handles; none if it is no handler."""
    found = getattr(function, _MARK, ())
    return found if isinstance(found, tuple) else ()


class On:
    """Decorators for events of the unit itself and of secrets; endpoints and storages have their own decorators."""

    install = Hook(event.Install)
    start = Hook(event.Start)
    stop = Hook(event.Stop)
    remove = Hook(event.Remove)
    config_changed = Hook(event.ConfigChanged)
    upgrade_charm = Hook(event.UpgradeCharm)
    update_status = Hook(event.UpdateStatus)
    leader_elected = Hook(event.LeaderElected)
    leader_settings_changed = Hook(event.LeaderSettingsChanged)
    pre_series_upgrade = Hook(event.PreSeriesUpgrade)
    post_series_upgrade = Hook(event.PostSeriesUpgrade)
    collect_metrics = Hook(event.CollectMetrics)
    secret_changed = Hook(event.SecretChanged)
    secret_rotate = Hook(event.SecretRotate)
    secret_expired = Hook(event.SecretExpired)
    secret_remove = Hook(event.SecretRemove)


on = On()
