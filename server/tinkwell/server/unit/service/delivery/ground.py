"""Why an event comes: what has caused it, and who leaves in it, as its row and the log say it."""

import dataclasses
import json

from tinkwell.core.unit.kinds import EventKind, Leaving, Life, Reason
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.unit.store.delivery import Loaded


@dataclasses.dataclass(frozen=True, slots=True)
class Remote:
    """Why a remote unit leaves, and who has asked for that; both are empty where nobody did."""

    reason: str = ""
    actor: str = ""
    is_forced: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Ground:
    """Why an event of the teardown comes, who leaves in it, and who has asked for that; empty for others."""

    reason: str = ""
    leaving: str = ""
    actor: str = ""


def needs_remote(event: UnitEvent, loaded: Loaded) -> bool:
    """Whether the ground of an event depends on why the remote unit leaves."""
    return (
        event.kind is EventKind.RELATION_DEPARTED
        and loaded.view.life is Life.ALIVE
        and loaded.view.relations[event.relation].life is Life.ALIVE
    )


def ground_of(event: UnitEvent, loaded: Loaded, remote: Remote) -> Ground:
    """Return why an event comes."""
    if not event.kind.is_teardown:
        return Ground()
    view, unit = loaded.view, loaded.unit
    if view.life is not Life.ALIVE:
        reason = Reason.APPLICATION_REMOVED if view.application_life is not Life.ALIVE else Reason.UNIT_REMOVED
        return Ground(unit.removal_reason or reason, Leaving.SELF, unit.removal_actor)
    relation = view.relations.get(event.relation)
    if relation is None:
        return Ground()
    if relation.life is not Life.ALIVE:
        is_left = relation.application_life is not Life.ALIVE
        reason = Reason.APPLICATION_REMOVED if is_left else Reason.RELATION_REMOVED
        return Ground(reason, Leaving.RELATION, loaded.removal_actors.get(event.relation, ""))
    reason = Reason.FORCED if remote.is_forced else Reason.UNIT_REMOVED
    return Ground(reason if remote.is_forced else remote.reason or reason, Leaving.REMOTE, remote.actor)


def cause_of(event: UnitEvent, loaded: Loaded) -> str:
    """Return what has made an event due, as a JSON object: a resource in a version of it, if there is one.

    What is told of a relation is known by its number, and by the owner of the bag that was changed.
    """
    application, seen = loaded.application, event.seen
    match event.kind:
        case EventKind.CONFIG_CHANGED:
            cause: dict[str, object] = {"type": "APPLICATION", "id": application.id, "version": seen.config}
        case EventKind.LEADER_ELECTED | EventKind.LEADER_SETTINGS_CHANGED:
            cause = {"type": "APPLICATION", "id": application.id, "version": seen.term}
        case EventKind.UPGRADE_CHARM:
            cause = {"type": "CHARM", "id": seen.charm}
        case EventKind.RELATION_JOINED | EventKind.RELATION_CHANGED:
            owner = loaded.view.unit if event.is_echo else event.unit or event.application
            cause = {"type": "RELATION", "id": str(event.relation), "owner": owner, "version": seen.bag}
        case _ if event.kind.is_relation:
            cause = {"type": "RELATION", "id": str(event.relation)}
        case _ if event.kind.is_storage:
            cause = {"type": "STORAGE", "id": event.storage}
        case _:
            cause = {}
    return json.dumps(cause)
