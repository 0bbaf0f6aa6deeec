"""The events in the life of charts and releases, by name.

A core event is what the program does itself: it has exactly one implementation, and no handler. An optional one may
have any number of handlers, in the Lua of charts or in Python. A chart may hear an event of one of its subcharts:
`bar:ready` is the event `ready` of the subchart with the effective name bar.
"""

from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core import errors
from tinkwell.core.release.kinds import OperationKind
from tinkwell.core.value import closed_object, parse


class CoreEvent(StrEnum):
    """What the program does itself."""

    READ_CHART = "read-chart"
    WRITE_CHART = "write-chart"
    RENDER = "render"
    VALIDATE = "validate"
    INSTALL = "install"
    UPGRADE = "upgrade"
    ROLLBACK = "rollback"
    DELETE = "delete"
    LIST = "list"
    TEST = "test"


class Event(StrEnum):
    """What handlers may hear."""

    CHART_LOADED = "chart-loaded"
    PRE_RENDER = "pre-render"
    POST_RENDER = "post-render"
    PRE_VALIDATE = "pre-validate"
    POST_VALIDATE = "post-validate"
    PRE_INSTALL = "pre-install"
    POST_INSTALL = "post-install"
    PRE_UPGRADE = "pre-upgrade"
    POST_UPGRADE = "post-upgrade"
    PRE_ROLLBACK = "pre-rollback"
    POST_ROLLBACK = "post-rollback"
    PRE_DELETE = "pre-delete"
    POST_DELETE = "post-delete"
    WAIT = "wait"
    READY = "ready"
    PRE_LIST = "pre-list"
    POST_LIST = "post-list"
    PRE_TEST = "pre-test"
    POST_TEST = "post-test"
    FAILED_TEST = "failed-test"
    POST_TEMPLATE = "post-template"
    PRE_LINT = "pre-lint"
    PRE_PACKAGE = "pre-package"
    POST_PACKAGE = "post-package"


# The other name of an event.
_ALIASES = {"watch": Event.WAIT}
# There is no chart that could carry Lua for these.
PYTHON_ONLY = (Event.PRE_LIST, Event.POST_LIST)
# Handlers of these may change values and templates, and of those what was rendered.
CHANGES_SOURCES = (Event.PRE_RENDER,)
CHANGES_MANIFEST = (Event.POST_RENDER, Event.PRE_VALIDATE, Event.POST_VALIDATE)
# An error in a handler of these is a warning, and nothing fails by it.
ONLY_WARNS = (Event.READY, Event.FAILED_TEST, Event.POST_LIST)

_VERBS = {
    OperationKind.INSTALL: CoreEvent.INSTALL,
    OperationKind.UPGRADE: CoreEvent.UPGRADE,
    OperationKind.ROLLBACK: CoreEvent.ROLLBACK,
    OperationKind.UNINSTALL: CoreEvent.DELETE,
    OperationKind.TEST: CoreEvent.TEST,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """What a handler hears: an event of its own chart, or of the `subchart` with this effective name."""

    event: Event
    subchart: str = ""


def parse_event(field: str, text: str) -> Heard:
    """Read the name by which a handler is registered; raises `errors.InvalidField` that says which there are."""
    subchart, colon, name = text.rpartition(":")
    if colon and not subchart:
        raise errors.InvalidField.of(field, f"{parse.show(text)} names no subchart before the colon")
    if name in _ALIASES:
        return Heard(_ALIASES[name], subchart)
    known = [event.value for event in Event]
    if name not in known:
        is_core = name in [event.value for event in CoreEvent]
        hint = "Tinkwell does that itself." if is_core else closed_object.nearest(name, known)
        # Where none is near, these are listed anyway.
        advice = f"{hint} They are: " if hint[-1] in "?." else "they are: "
        told = f"{parse.show(name)} is no event that handlers hear; {advice}{', '.join(known)}"
        raise errors.InvalidField.of(field, told)
    return Heard(Event(name), subchart)


def verb_of(kind: OperationKind) -> CoreEvent:
    """Return the core event that an operation of this kind is; a PLAN is none."""
    return _VERBS[kind]


def is_of_former(event: str) -> bool:
    """Whether an event belongs to what was there before an operation, and ends with it."""
    return event in (Event.PRE_ROLLBACK, Event.PRE_DELETE, CoreEvent.DELETE, Event.POST_DELETE)


def before(verb: CoreEvent) -> Event:
    """Return the event before a core one."""
    return Event(f"pre-{verb}")


def after(verb: CoreEvent) -> Event:
    """Return the event after a core one."""
    return Event(f"post-{verb}")
