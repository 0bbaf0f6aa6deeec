"""What a model gives an attempt, and what the attempt asks of it."""

from collections.abc import Mapping
from pathlib import Path

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Attempt, RelationGiven, Value
from tinkwell.charm.status import Status
from tinkwell.core.charm import config
from tinkwell.core.charm.record import Option
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import Membership
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View
from tinkwell.core.unit.world import World
from tinkwell.core.unit.world.state import Running


class Modelled:
    """The surroundings of an attempt in a model."""

    def __init__(self, world: World, running: Running, given: Attempt) -> None:
        self._world = world
        self._unit = running.unit
        self._term = given.term
        self._given = given

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads."""
        view = self._world.view(self._unit)
        return view.leads and view.term == self._term

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return a bag. Raises `NotReadable` for one that is none of the unit's business."""
        for each in self._given.relations:
            if each.number == relation:
                readable = {*each.units, each.application, self._given.event.unit, self._unit}
                if owner in readable:
                    return dict(self._world.bag(relation, owner))
        raise errors.NotReadable(f"{self._unit} may not read the bag of {owner} in relation {relation}")

    def set_status(self, status: Status) -> None:
        """Show a status."""
        self._world.set_status(self._unit, status.name, status.message)

    def set_application_status(self, status: Status) -> None:
        """Take a status of the application, which the model does not keep."""

    def set_workload_version(self, version: str) -> None:
        """Show a version."""
        self._world.units[self._unit].workload_version = version


def attempt(world: World, running: Running, options: Mapping[str, Option], folder: Path) -> Attempt:
    """Return what a charm with these options is given for an event that runs; storages are below `folder`."""
    unit, view, event = world.units[running.unit], world.view(running.unit), running.event
    ledger = world.ledger(running.unit)
    return Attempt(
        unit=running.unit,
        ordinal=running.ordinal,
        attempt=running.attempt,
        event=event,
        reason=running.reason.value if running.reason else "",
        term=view.term,
        config=_config(world, view.application, options),
        relations=tuple(
            _relation(world, each, view) for each in view.relations.values() if _is_in(world, each, running.unit, event)
        ),
        storages={each: _folder(folder, each) for each in {*ledger.attached, *filter(None, [event.storage])}},
        state=dict(unit.state),
        notices=tuple(unit.notices),
        ports=frozenset(unit.ports),
    )


def _config(world: World, application: str, options: Mapping[str, Option]) -> Mapping[str, Value]:
    found = config.effective(options, world.applications[application].config)
    return {key: value if isinstance(value, str | bool | int) else float(str(value)) for key, value in found.items()}


def _is_in(world: World, relation: RelationView, unit: str, event: UnitEvent) -> bool:
    told = world.ledger(unit).relations.get(relation.number)
    is_member = relation.membership in (Membership.ENTERING, Membership.IN)
    return relation.number == event.relation or (is_member and not (told is not None and told.broken))


def _relation(world: World, relation: RelationView, view: View) -> RelationGiven:
    told = world.ledger(view.unit).relations.get(relation.number)
    known = told.members if told is not None else {}
    # Of its siblings a unit sees those that it was told of.
    seen = [
        unit
        for unit, member in relation.members.items()
        if member.is_visible
        and (relation.is_peer or member.application != view.application or (unit in known and not known[unit].is_older))
    ]
    may_read = relation.is_peer or view.leads
    return RelationGiven(
        number=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
        is_peer=relation.is_peer,
        units=tuple(sorted(seen, key=name.order)),
        own=dict(world.bag(relation.number, view.unit)),
        own_application=dict(world.bag(relation.number, view.application)) if may_read else {},
    )


def _folder(parent: Path, storage: str) -> Path:
    path = parent / storage
    path.mkdir(parents=True, exist_ok=True)
    return path
