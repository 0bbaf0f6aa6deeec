"""Why a teardown event comes to a unit: who leaves, and who requested it."""

from tinkwell.core.unit.kinds import Leaving, Life, Reason
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.world.state import State, Unit


def of_teardown(state: State, unit: Unit, event: UnitEvent) -> tuple[Reason | None, Leaving | None, str]:
    """Return the reason of a teardown event, who leaves, and the actor; (None, None, "") for other events."""
    if not event.kind.is_teardown:
        return None, None, ""
    application = state.applications[unit.application]
    if unit.life is not Life.ALIVE:
        is_whole = application.life is not Life.ALIVE
        return Reason.APPLICATION_REMOVED if is_whole else Reason.UNIT_REMOVED, Leaving.SELF, unit.actor
    relation = state.relations.get(event.relation)
    if relation is None:
        return None, None, ""
    if relation.life is not Life.ALIVE:
        is_other = state.applications[relation.other(unit.application)].life is not Life.ALIVE
        reason = Reason.APPLICATION_REMOVED if is_other else Reason.RELATION_REMOVED
        return reason, Leaving.RELATION, relation.actor
    leaver = state.units.get(event.unit)
    is_forced = leaver is not None and leaver.is_forced
    return Reason.FORCED if is_forced else Reason.UNIT_REMOVED, Leaving.REMOTE, leaver.actor if leaver else ""
