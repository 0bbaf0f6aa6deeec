"""Writes secrets of the fake server as messages, and reads the changes that units make to them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.client.testing.unit.book import Room
from tinkwell.client.unit.secret.model import ROTATIONS
from tinkwell.core import errors
from tinkwell.core.unit import effect as effects
from tinkwell.core.unit import secret as rule
from tinkwell.core.unit.kinds import Rotation
from tinkwell.core.unit.world import Secret
from tinkwell.core.unit.world import Unit as WorldUnit


def message(room: Room, source: Secret) -> pb.Secret:
    """Write a secret without its content."""
    stamp = room.stamp(source.id) if source.name in room.world.secrets else None
    units = room.world.units.values()
    target = pb.Secret(
        id=source.id,
        name=source.name,
        namespace=room.namespace,
        owner=source.owner,
        label=source.label,
        description=source.description,
        rotation=ROTATIONS.number(source.rotation),
        latest=source.latest,
        grants=_grants(source),
        version=stamp.version if stamp else 0,
    )
    for number in sorted(source.revisions):
        readers = [unit.name for unit in units if number == _tracked(unit, source.name)]
        target.revisions.add(revision=number, readers=sorted(readers))
        _set(target.revisions[-1], "expires_at", source.revisions[number].expires_at)
    _set(target, "rotates_at", source.rotates_at)
    _set(target, "created_at", stamp.created_at if stamp else None)
    _set(target, "updated_at", stamp.updated_at if stamp else None)
    return target


def own(room: Room, unit: WorldUnit) -> list[unit_pb.GrantSecret]:
    """Write the secrets that a unit knows: those that it owns, then those that it has read."""
    seen = room.world.view(unit.name).secrets
    found = sorted(seen.values(), key=lambda each: (not each.is_owner, each.id))
    return [_own(unit, room.world.secrets[each.id], is_owned=each.is_owner) for each in found]


def _own(unit: WorldUnit, source: Secret, *, is_owned: bool) -> unit_pb.GrantSecret:
    owns = source.owner in (unit.name, unit.application)
    target = unit_pb.GrantSecret(
        id=source.name,
        owner=source.owner,
        is_owned=is_owned,
        label=source.label if owns else unit.labels.get(source.name, ""),
        description=source.description,
        latest=source.latest,
        tracked=_tracked(unit, source.name),
        rotation=ROTATIONS.number(source.rotation),
        revisions=sorted(source.revisions) if is_owned else [],
        grants=_grants(source) if is_owned else [],
    )
    _set(target, "rotates_at", source.rotates_at)
    _set(target, "expires_at", source.revisions[source.latest].expires_at)
    return target


def label_of(room: Room, unit: WorldUnit, wanted: str) -> str:
    """Return the label by which a unit knows a secret."""
    source = room.world.secrets.get(wanted)
    owns = source is not None and source.owner in (unit.name, unit.application)
    return source.label if source is not None and owns else unit.labels.get(wanted, "")


def read(room: Room, unit: WorldUnit, request: unit_pb.ReadSecretRequest) -> unit_pb.ReadSecretResponse:
    """Read a secret for a unit. Raises `errors.NotFound` if the unit may not read it."""
    if bool(request.id) == bool(request.label):
        raise errors.InvalidField.of("id", "give the id of a secret, or its label, and not both")
    if request.id:
        rule.parse_id("id", request.id)
    found, revision = room.world.read_secret(unit.name, name=request.id, label=request.label, revision=request.revision)
    content = found.revisions[revision].content
    return unit_pb.ReadSecretResponse(id=found.name, revision=revision, content=content)


def effect(field: str, source: unit_pb.SecretEdit) -> effects.SecretEffect:
    """Read a change of a secret. Raises `errors.InvalidField`."""
    match source.WhichOneof("edit"):
        case "add":
            return effects.SecretAdd(
                id=source.id,
                content=dict(source.add.content),
                is_application=source.add.is_application,
                label=source.add.label,
                description=source.add.description,
                rotation=_rotation(source.add) or Rotation.NEVER,
                expires_at=_expiry(source.add),
            )
        case "set":
            return effects.SecretSet(
                id=source.id,
                content=dict(source.set.content) or None,
                label=source.set.label if source.set.HasField("label") else None,
                description=source.set.description if source.set.HasField("description") else None,
                rotation=_rotation(source.set),
                expires_at=_expiry(source.set),
            )
        case "grant" | "revoke" as which:
            given = source.grant if which == "grant" else source.revoke
            made = effects.SecretGrant if which == "grant" else effects.SecretRevoke
            return made(id=source.id, relation=given.relation, application=given.application, unit=given.unit)
        case "remove":
            return effects.SecretRemove(id=source.id, revision=source.remove.revision)
        case "track":
            label = source.track.label if source.track.HasField("label") else None
            return effects.SecretTrack(id=source.id, revision=source.track.revision, label=label)
        case _:
            raise errors.InvalidField.of(field, "says nothing; give one of add, set, grant, revoke, remove, track")


def _rotation(source: unit_pb.SecretChange) -> Rotation | None:
    return ROTATIONS.member(source.rotation) if source.HasField("rotation") else None


def _expiry(source: unit_pb.SecretChange) -> datetime | None:
    return source.expires_at.ToDatetime(tzinfo=UTC) if source.HasField("expires_at") else None


def _tracked(unit: WorldUnit, secret: str) -> int:
    told = unit.ledger.secrets.get(secret)
    return told.tracked if told else 0


def _grants(source: Secret) -> Iterable[pb.SecretGrant]:
    found = sorted(source.grants, key=lambda each: (each.relation, each.application, each.unit))
    return [pb.SecretGrant(relation=each.relation, application=each.application, unit=each.unit) for each in found]


def _set(target: Any, field: str, moment: datetime | None) -> None:
    if moment is not None:
        getattr(target, field).FromDatetime(moment)
