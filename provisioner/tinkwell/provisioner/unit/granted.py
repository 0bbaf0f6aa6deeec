"""A grant, held against the clock, and as scripts see it."""

import time
from dataclasses import dataclass

from tinkwell.client.unit.grant import Grant, GrantedRelation
from tinkwell.core.unit.effect import BagEdit, Effects
from tinkwell.core.unit.kinds import Owner
from tinkwell.provisioner.unit.attempt import Attempt, Given, Occasion, Relation, Status
from tinkwell.provisioner.unit.folder import Folders

# Who is told that it leads may rely on that for so long.
PROMISE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant, and when it was asked for by `now`."""

    grant: Grant
    asked_at: float

    @property
    def leads(self) -> bool:
        """Whether the unit leads, and will for as long as scripts may rely on."""
        leadership = self.grant.leadership
        return leadership.leads and leadership.remaining_seconds - (now() - self.asked_at) >= PROMISE_SECONDS

    @property
    def remaining_seconds(self) -> float:
        """How long the attempt may go on: the server counts from when it granted it."""
        return max(0.0, self.grant.timeout_seconds - (now() - self.asked_at))

    def is_same(self, grant: Grant) -> bool:
        """Whether another grant is for this very attempt."""
        return (grant.event.id, grant.event.attempt) == (self.grant.event.id, self.grant.event.attempt)


def now() -> float:
    """Return the time by a clock that goes on while the machine sleeps, as the server's does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def given(grant: Grant, folders: Folders) -> Given:
    """Say what scripts may read. Raises `state_dir.StateError` for names that name no folder of a storage."""
    told = grant.event.told
    return Given(
        unit=grant.unit,
        namespace=grant.namespace,
        occasion=Occasion(
            name=told.name,
            relation=told.relation,
            application=told.application,
            unit=told.unit,
            departing_unit=told.departing_unit,
            storage=told.storage,
        ),
        config=grant.config,
        relations={each.number: _relation(each) for each in grant.relations},
        # One that is about to be attached is there for its event.
        storages={
            name: str(folders.storage(grant.namespace, name))
            for name, is_attached in grant.storages.items()
            if is_attached or name == told.storage
        },
        state=grant.state,
        status=Status(name=grant.status.name, message=grant.status.message),
    )


def effects(grant: Grant, attempt: Attempt) -> Effects:
    """Gather what an attempt has done."""
    bags = dict[tuple[int, Owner], dict[str, str | None]]()
    for edit in attempt.bag_edits:
        owner = Owner.UNIT if edit.owner == grant.unit else Owner.APPLICATION
        bags.setdefault((edit.relation, owner), {})[edit.key] = edit.value
    is_leaders = any(owner is Owner.APPLICATION for _, owner in bags)
    return Effects(
        term=grant.leadership.term if is_leaders else 0,
        bags=tuple(BagEdit(relation=number, owner=owner, edits=edits) for (number, owner), edits in bags.items()),
        state=dict(attempt.state_edits),
    )


def _relation(relation: GrantedRelation) -> Relation:
    application = f"{relation.application}/"
    own = relation.own_application
    return Relation(
        number=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
        is_peer=relation.peer,
        # Siblings that the unit was told of are no members to scripts: those are the other side.
        members=tuple(unit for unit in relation.members if unit.startswith(application)),
        unit_bag=relation.own.data,
        application_bag=None if own is None else own.data,
    )
