"""Adds the deferred notices of a charm to the effects of an attempt, as the charm's state file has them after it."""

import dataclasses
from pathlib import Path

from tinkwell.client.unit.agent.grant import Grant
from tinkwell.core.unit import notice as notices
from tinkwell.core.unit.effect import Effects, Notice
from tinkwell.core.unit.kinds import EventKind
from tinkwell.provisioner.unit.state import notice

# ops refuses to defer these events. Notices that a charm defers during one of them are reported with its next event.
_NEVER_DEFERRED = (EventKind.STOP, EventKind.REMOVE, EventKind.SECRET_ROTATE, EventKind.SECRET_EXPIRED)


def add_notices(done: Effects, grant: Grant, path: Path) -> Effects:
    """Return the effects with the new notices and those that are gone. Raises `notice.Unreadable`.

    A new notice belongs to the event during which it has appeared. Notices of a task are reported with the next event.
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
