"""The events in the life of charts and releases, by name.

A core event is the program's own work: it has exactly one implementation, and no handler. Other events may have any
number of handlers, in the Lua of charts or in Python. A chart may hear an event of a subchart: `bar:ready` is the event
`ready` of the subchart with the effective name bar.
"""

from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core import errors
from tinkwell.core.release.kinds import OperationKind
from tinkwell.core.value import closed_object, parse


class CoreEvent(StrEnum):
    """The work of the program itself."""

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
    """The events that handlers may hear."""

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


# Other names of events.
_ALIASES = {"watch": Event.WAIT}
# These are about no single release, so no chart has Lua for them.
PYTHON_ONLY = (Event.PRE_LIST, Event.POST_LIST)
# Handlers of these may change values and templates, and handlers of the next ones the rendered manifest.
CHANGES_SOURCES = (Event.PRE_RENDER,)
CHANGES_MANIFEST = (Event.POST_RENDER, Event.PRE_VALIDATE, Event.POST_VALIDATE)
# An error in a handler of these is only a warning.
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
    """Parse the event name of a handler's registration; raises `errors.InvalidField` that lists the events."""
    subchart, colon, name = text.rpartition(":")
    if colon and not subchart:
        raise errors.InvalidField.of(field, f"{parse.show(text)} names no subchart before the colon")
    if name in _ALIASES:
        return Heard(_ALIASES[name], subchart)
    known = [event.value for event in Event]
    if name not in known:
        is_core = name in [event.value for event in CoreEvent]
        hint = "Tinkwell does that itself." if is_core else closed_object.nearest(name, known)
        # The text lists all events if none is similar.
        advice = f"{hint} They are: " if hint[-1] in "?." else "they are: "
        told = f"{parse.show(name)} is no event that handlers hear; {advice}{', '.join(known)}"
        raise errors.InvalidField.of(field, told)
    return Heard(Event(name), subchart)


def verb_of(kind: OperationKind) -> CoreEvent:
    """Return the core event of an operation of this kind; a PLAN has none."""
    return _VERBS[kind]


def is_of_former(event: str) -> bool:
    """Whether an event belongs to the state before an operation, which the operation ends."""
    return event in (Event.PRE_ROLLBACK, Event.PRE_DELETE, CoreEvent.DELETE, Event.POST_DELETE)


def before(verb: CoreEvent) -> Event:
    """Return the event before a core event."""
    return Event(f"pre-{verb}")


def after(verb: CoreEvent) -> Event:
    """Return the event after a core event."""
    return Event(f"post-{verb}")
