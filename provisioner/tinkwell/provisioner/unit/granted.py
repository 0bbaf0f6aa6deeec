"""A grant, held against the clock, and as the programs of a charm see it."""

import time
import uuid
from dataclasses import dataclass

from tinkwell.client.unit.agent.grant import Grant, GrantedRelation, GrantedSecret
from tinkwell.core.unit import effect
from tinkwell.core.unit.kinds import EventKind, Owner
from tinkwell.provisioner.unit.attempt import given as givens
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Given, Occasion, Relation, Status
from tinkwell.provisioner.unit.folder import Folders

# Who is told that it leads may rely on that for so long.
PROMISE_SECONDS = 30.0
# What a name of a namespace is told as to charms that want an id.
_MODELS = uuid.UUID("9a1f2c0e-6a0b-5c83-8f6e-3d0f0a7f6a11")


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant, and when it was asked for by `now`."""

    grant: Grant
    asked_at: float

    @property
    def leads(self) -> bool:
        """Whether the unit leads, and will for as long as programs may rely on."""
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


def given(grant: Grant, folders: Folders, address: str) -> Given:
    """Say what programs may read; `address` is this machine's, for units of none.

    Raises `state_dir.StateError` for names that name no folder of a storage.
    """
    occasion = _occasion(grant)
    return Given(
        unit=grant.unit,
        namespace=grant.namespace,
        model=str(uuid.uuid5(_MODELS, grant.namespace)),
        occasion=occasion,
        config=grant.config,
        relations={each.number: _relation(each) for each in grant.relations},
        # One that is about to be attached is there for its event.
        storages={
            name: str(folders.storage(grant.namespace, name))
            for name, is_attached in grant.storages.items()
            if is_attached or name == occasion.storage
        },
        state=grant.state,
        status=Status(name=grant.status.name, message=grant.status.message),
        application_status=Status(name=grant.application_status.name, message=grant.application_status.message),
        ports=frozenset(effect.Port(protocol=each.protocol, number=each.number) for each in grant.ports),
        secrets={each.id: _secret(each) for each in grant.secrets},
        addresses=grant.addresses or (address,),
        remote=None if grant.remote is None else (grant.remote.owner, grant.remote.data),
    )


async def enter(attempt: Attempt) -> None:
    """Write into a bag what charms of Juju find there from the relation's beginning. Raises `Refused`."""
    own, occasion = attempt.given, attempt.given.occasion
    relation = own.relations.get(occasion.relation)
    if occasion.kind != EventKind.RELATION_CREATED or relation is None:
        return
    address = own.addresses[0]
    subnet = f"{address}/{128 if ':' in address else 32}"
    said = {"private-address": address, "ingress-address": address, "egress-subnets": subnet}
    await attempt.edit_bag(relation, own.unit, {key: said[key] for key in said if key not in relation.unit_bag})


def effects(grant: Grant, attempt: Attempt) -> effect.Effects:
    """Gather what an attempt has done."""
    bags = dict[tuple[int, Owner], dict[str, str | None]]()
    for edit in attempt.bag_edits:
        owner = Owner.UNIT if edit.owner == grant.unit else Owner.APPLICATION
        bags.setdefault((edit.relation, owner), {})[edit.key] = edit.value
    is_leaders = any(owner is Owner.APPLICATION for _, owner in bags) or attempt.secrets.is_applications
    return effect.Effects(
        term=grant.leadership.term if is_leaders else 0,
        bags=tuple(
            effect.BagEdit(relation=number, owner=owner, edits=edits)
            for (number, owner), edits in bags.items()
            if edits
        ),
        state=dict(attempt.state_edits),
        opened=attempt.ports.opened,
        closed=attempt.ports.closed,
        storages=tuple(
            effect.StorageRequest(storage=name, count=count) for name, count in sorted(attempt.storages.items())
        ),
        secrets=attempt.secrets.effects,
    )


def _occasion(grant: Grant) -> Occasion:
    if grant.task is not None:
        task = givens.Task(
            id=grant.task.id,
            name=grant.task.name,
            parameters=grant.task.parameters,
            arguments=grant.task.arguments,
        )
        return Occasion(task=task)
    told = grant.event.told
    return Occasion(
        name=told.name,
        kind=told.kind,
        relation=told.relation,
        endpoint=told.endpoint,
        application=told.application,
        unit=told.unit,
        departing_unit=told.departing_unit,
        storage=told.storage,
        secret=told.secret,
        revision=told.revision,
    )


def _relation(relation: GrantedRelation) -> Relation:
    application = f"{relation.application}/"
    own = relation.own_application
    return Relation(
        number=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
        is_peer=relation.peer,
        # Siblings that the unit was told of are no members to programs: those are the other side.
        members=tuple(unit for unit in relation.members if unit.startswith(application)),
        unit_bag=relation.own.data,
        application_bag=None if own is None else own.data,
    )


def _secret(secret: GrantedSecret) -> givens.Secret:
    return givens.Secret(
        id=secret.id,
        owner=secret.owner,
        is_owned=secret.owned,
        label=secret.label,
        description=secret.description,
        latest=secret.latest,
        tracked=secret.tracked,
        rotation=secret.rotation,
        rotates_at=secret.rotates_at,
        expires_at=secret.expires_at,
        revisions=secret.revisions,
        grants=tuple(
            givens.Grant(relation=each.relation, application=each.application, unit=each.unit)
            for each in secret.readers
        ),
    )
