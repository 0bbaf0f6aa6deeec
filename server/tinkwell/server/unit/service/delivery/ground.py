"""The cause and the actor of an event, as the event's row records them."""

import json

from tinkwell.core.unit.kinds import Leaving
from tinkwell.core.unit.resolver import explanation
from tinkwell.core.unit.resolver.explanation import Ground
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.server.unit.store.delivery import Loaded


def actor_of(event: UnitEvent, ground: Ground | None, loaded: Loaded, remote_actor: str) -> str:
    """Return who has requested what an event of a teardown reports: `remote_actor` for a remote unit's removal."""
    if ground is None:
        return ""
    if ground.leaving is Leaving.SELF:
        return loaded.unit.removal_actor
    return loaded.removal_actors.get(event.relation, remote_actor)


def cause_of(event: UnitEvent, loaded: Loaded, actor: str) -> str:
    """Return the cause of an event as a JSON object."""
    found = explanation.cause(
        event,
        unit=loaded.view.unit,
        application_id=loaded.application.id,
        is_of_upgrade=bool(loaded.ledger.queue),
        actor=actor,
    )
    return json.dumps(found)
