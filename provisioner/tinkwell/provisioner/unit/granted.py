"""A grant of an event: the time that is left of it, and its translation for the programs of a charm."""

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

# A program that is told that its unit leads may rely on that for this long.
PROMISE_SECONDS = 30.0
# The UUID namespace for the ids of models, which charms get in place of the names of namespaces.
_MODELS = uuid.UUID("9a1f2c0e-6a0b-5c83-8f6e-3d0f0a7f6a11")


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant, and the time of `now` at which it was asked for."""

    grant: Grant
    asked_at: float

    @property
    def leads(self) -> bool:
        """Whether the unit leads, and will lead for `PROMISE_SECONDS` more."""
        leadership = self.grant.leadership
        return leadership.leads and leadership.remaining_seconds - (now() - self.asked_at) >= PROMISE_SECONDS

    @property
    def remaining_seconds(self) -> float:
        """How long the attempt may go on; the server counts from the grant."""
        return max(0.0, self.grant.timeout_seconds - (now() - self.asked_at))

    def is_same(self, grant: Grant) -> bool:
        """Return whether another grant is for the same attempt."""
        return (grant.event.id, grant.event.attempt) == (self.grant.event.id, self.grant.event.attempt)


def now() -> float:
    """Return the time of a clock that goes on while the machine sleeps, as the server's clock does."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def given(grant: Grant, folders: Folders, address: str) -> Given:
    """Return what programs may read. `address` is this machine's, for units without addresses.

    Raises `state_dir.StateError` for invalid names of storages.
    """
    occasion = _occasion(grant)
    return Given(
        unit=grant.unit,
        namespace=grant.namespace,
        model=str(uuid.uuid5(_MODELS, grant.namespace)),
        occasion=occasion,
        config=grant.config,
        relations={each.number: _relation(each) for each in grant.relations},
        # The event of an attachment sees the storage that is about to be attached.
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
    """Write the addresses into a new relation's bag that Juju writes there. Raises `Refused`."""
    own, occasion = attempt.given, attempt.given.occasion
    relation = own.relations.get(occasion.relation)
    if occasion.kind != EventKind.RELATION_CREATED or relation is None:
        return
    address = own.addresses[0]
    subnet = f"{address}/{128 if ':' in address else 32}"
    said = {"private-address": address, "ingress-address": address, "egress-subnets": subnet}
    await attempt.edit_bag(relation, own.unit, {key: said[key] for key in said if key not in relation.unit_bag})


def effects(grant: Grant, attempt: Attempt) -> effect.Effects:
    """Return the effects of an attempt."""
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
        # For programs, members are only units of the other side, and not siblings of this unit.
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
