"""Adds to what an attempt has done which notices its charm keeps, as the charm's file has them after it."""

import dataclasses
from pathlib import Path

from tinkwell.client.unit.agent.grant import Grant
from tinkwell.core.unit import notice as notices
from tinkwell.core.unit.effect import Effects, Notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.provisioner.unit.state import notice

# ops itself refuses to defer these; what else a charm defers while it hears one is shown with its next event.
_NEVER_DEFERRED = (EventKind.STOP, EventKind.REMOVE, EventKind.SECRET_ROTATE, EventKind.SECRET_EXPIRED)


def add_notices(done: Effects, grant: Grant, path: Path) -> Effects:
    """Return the effects with the notices that are new, and those that are gone. Raises `notice.Unreadable`.

    A new one belongs to the event in whose dispatch it has appeared, and one of a task is seen at the next event.
    """
    found = notice.read(path)
    known = {
        each.handler: Notice(ordinal=each.ordinal, handler=each.handler, event=each.event) for each in grant.deferred
    }
    gone = notice.consumed(found, known)
    if grant.task is not None or grant.event.kind in _NEVER_DEFERRED:
        return dataclasses.replace(done, consumed=gone)
    told = notices.write(grant.event.told)
    new = notice.added(found, known, ordinal=grant.event.ordinal, event=told)
    return dataclasses.replace(done, deferred=new, consumed=gone)
