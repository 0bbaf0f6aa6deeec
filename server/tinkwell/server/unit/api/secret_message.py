"""Converts secrets into protobuf messages, and the effects of events on secrets from messages."""

import datetime
from collections.abc import Iterable

from google.protobuf import timestamp_pb2

from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.api.v1 import unit_service_pb2 as unit_pb
from tinkwell.core import errors
from tinkwell.core.unit.effect import (
    SecretAdd,
    SecretEffect,
    SecretGrant,
    SecretRemove,
    SecretRevoke,
    SecretSet,
    SecretTrack,
)
from tinkwell.core.unit.kinds import Rotation
from tinkwell.core.value import parse
from tinkwell.server.rpc import timestamp
from tinkwell.server.unit.service.delivery.record import Granted, OwnSecret
from tinkwell.server.unit.service.secret.asking import Revision, Secret

_ROTATIONS = {each: pb.SecretRotation.Value(f"SECRET_ROTATION_{each.name}") for each in Rotation}
_LATEST = datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC)


def secret(found: Secret) -> pb.Secret:
    """Build the message of a secret, without its content."""
    return pb.Secret(
        id=found.id,
        name=found.name,
        namespace=found.namespace,
        owner=found.owner,
        label=found.label,
        description=found.description,
        rotation=_ROTATIONS[found.rotation],
        rotates_at=_moment(found.rotates_at),
        latest=found.latest,
        revisions=[_revision(each) for each in found.revisions],
        grants=[_granted(each) for each in found.grants],
        version=found.version,
        created_at=timestamp.of(found.created_at),
        updated_at=timestamp.of(found.updated_at),
    )


def own_secret(found: OwnSecret) -> unit_pb.GrantSecret:
    """Build the message of a unit's view of a secret."""
    return unit_pb.GrantSecret(
        id=found.name,
        owner=found.owner,
        is_owned=found.is_owned,
        label=found.label,
        description=found.description,
        latest=found.latest,
        tracked=found.tracked,
        rotation=_ROTATIONS[found.rotation],
        rotates_at=_moment(found.rotates_at),
        expires_at=_moment(found.expires_at),
        revisions=found.revisions,
        grants=[_granted(each) for each in found.grants],
    )


def effects(source: Iterable[unit_pb.SecretEdit]) -> tuple[SecretEffect, ...]:
    """Read the effects on secrets. Raises `errors.InvalidField`."""
    return tuple(_effect(parse.child("effects.secrets", index), each) for index, each in enumerate(source))


def _effect(field: str, source: unit_pb.SecretEdit) -> SecretEffect:
    match source.WhichOneof("edit"):
        case "add":
            return _add(f"{field}.add", source.id, source.add)
        case "set":
            return _set(f"{field}.set", source.id, source.set)
        case "grant":
            given = source.grant
            return SecretGrant(id=source.id, relation=given.relation, application=given.application, unit=given.unit)
        case "revoke":
            given = source.revoke
            return SecretRevoke(id=source.id, relation=given.relation, application=given.application, unit=given.unit)
        case "remove":
            return SecretRemove(id=source.id, revision=_number(f"{field}.remove", source.remove.revision))
        case "track":
            label = source.track.label if source.track.HasField("label") else None
            return SecretTrack(id=source.id, revision=_number(f"{field}.track", source.track.revision), label=label)
        case _:
            raise errors.InvalidField.of(field, "says nothing; give one of add, set, grant, revoke, remove, track")


def _add(field: str, secret_id: str, source: unit_pb.SecretChange) -> SecretAdd:
    return SecretAdd(
        id=secret_id,
        content=dict(source.content),
        is_application=source.is_application,
        label=source.label,
        description=source.description,
        rotation=_rotation(field, source) or Rotation.NEVER,
        expires_at=_expiry(field, source),
    )


def _set(field: str, secret_id: str, source: unit_pb.SecretChange) -> SecretSet:
    return SecretSet(
        id=secret_id,
        content=dict(source.content) or None,
        label=source.label if source.HasField("label") else None,
        description=source.description if source.HasField("description") else None,
        rotation=_rotation(field, source),
        expires_at=_expiry(field, source),
    )


def _rotation(field: str, source: unit_pb.SecretChange) -> Rotation | None:
    if not source.HasField("rotation"):
        return None
    found = next((each for each, number in _ROTATIONS.items() if number == source.rotation), None)
    if found is None:
        raise errors.InvalidField.of(f"{field}.rotation", f"give one of {', '.join(Rotation)}")
    return found


def _expiry(field: str, source: unit_pb.SecretChange) -> datetime.datetime | None:
    if not source.HasField("expires_at"):
        return None
    try:
        found = source.expires_at.ToDatetime(tzinfo=datetime.UTC)
    except ValueError as error:
        raise errors.InvalidField.of(f"{field}.expires_at", "is no moment; give one of this century") from error
    if not datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) <= found < _LATEST:
        raise errors.InvalidField.of(f"{field}.expires_at", "lies outside of the years 1970 to 9998; give another one")
    return found


def _number(field: str, revision: int) -> int:
    return parse.parse_int_range(f"{field}.revision", revision, low=0, high=2**63 - 1)


def _revision(found: Revision) -> pb.SecretRevision:
    return pb.SecretRevision(
        revision=found.revision,
        expires_at=_moment(found.expires_at),
        created_at=timestamp.of(found.created_at),
        readers=found.readers,
    )


def _granted(found: Granted) -> pb.SecretGrant:
    return pb.SecretGrant(relation=found.relation, application=found.application, unit=found.unit)


def _moment(found: datetime.datetime | None) -> timestamp_pb2.Timestamp | None:
    return timestamp.of(found) if found is not None else None
