"""What has made an event due, and who has asked for that, as the event's row says it."""

import json

from tinkwell.core.unit.kinds import EventKind, Leaving
from tinkwell.core.unit.resolver.explanation import Ground
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.unit.store.delivery import Loaded


def actor_of(event: UnitEvent, ground: Ground | None, loaded: Loaded, remote_actor: str) -> str:
    """Return who has asked for what an event of the teardown tells; `remote_actor` for the remote unit's removal."""
    if ground is None:
        return ""
    if ground.leaving is Leaving.SELF:
        return loaded.unit.removal_actor
    return loaded.removal_actors.get(event.relation, remote_actor)


def cause_of(event: UnitEvent, loaded: Loaded, actor: str) -> str:
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
        case _ if event.kind.is_secret:
            cause = {"type": "SECRET", "id": event.secret} | ({"version": event.revision} if event.revision else {})
        case _ if event.kind.is_storage:
            cause = {"type": "STORAGE", "id": event.storage}
        case _:
            return "{}"
    return json.dumps(cause | ({"actor": actor} if actor else {}))
