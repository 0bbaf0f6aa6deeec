"""What a class of charms declares in its body: handlers, and things with a name."""

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

# The attribute of a function that has what it hears.
_MARK = "__tinkwell_hears__"


class Holder(Protocol):
    """What declared things need of the charm whose attributes they are."""

    @property
    def situation(self) -> Situation:
        """All that the charm is given for one event."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a handler hears: a kind of event, and for relations and storages the endpoint's or storage's name."""

    kind: EventKind
    name: str = ""


class Hook(Generic[E]):
    """A decorator that makes a method a handler of one kind of event; several on one method are fine."""

    def __init__(self, kind: type[E], name: str = "") -> None:
        self._subject = Subject(kind.kind, name)

    def __call__(self, function: Function[C, E]) -> Function[C, event.Event]:
        """Register a method. Handlers of a kind are called in the order in which they stand in the class.

        What comes back is the function itself. Its type says that it takes any event, so that another decorator does.
        """
        name = getattr(function, "__name__", repr(function))
        if not iscoroutinefunction(function):
            raise errors.DeclarationError(f"{name} handles {self._subject.kind}, so it must be declared by async def")
        setattr(function, _MARK, (self._subject, *heard(function)))
        return cast(Function[C, event.Event], function)


def heard(function: object) -> tuple[Subject, ...]:
    """Return what a function hears as a handler; nothing if it is none."""
    found = getattr(function, _MARK, ())
    return found if isinstance(found, tuple) else ()


class On:
    """Decorators for what happens to a unit itself and to secrets; those of relations and storages are theirs."""

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
