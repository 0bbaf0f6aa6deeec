"""Converts secrets in grants and changes of secrets between protobuf messages and objects."""

from collections.abc import Mapping
from datetime import datetime

from google.protobuf import timestamp_pb2

from tinkwell.api.v1 import secret_service_pb2
from tinkwell.api.v1 import unit_service_pb2 as pb
from tinkwell.client.unit.agent.grant import GrantedSecret, SecretContent, SecretReader
from tinkwell.client.value import field
from tinkwell.client.value.enumeration import Enumeration
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

ROTATIONS = Enumeration(Rotation, secret_service_pb2.SecretRotation, "SECRET_ROTATION")


def granted(source: pb.GrantSecret) -> GrantedSecret:
    """Read a secret as a unit sees it."""
    return GrantedSecret(
        id=source.id,
        owner=source.owner,
        owned=source.is_owned,
        label=source.label,
        description=source.description,
        latest=source.latest,
        tracked=source.tracked,
        rotation=ROTATIONS.member(source.rotation) if source.rotation else Rotation.NEVER,
        rotates_at=field.time(source, "rotates_at"),
        expires_at=field.time(source, "expires_at"),
        revisions=tuple(source.revisions),
        readers=tuple(
            SecretReader(relation=each.relation, application=each.application, unit=each.unit) for each in source.grants
        ),
    )


def content(source: pb.ReadSecretResponse) -> SecretContent:
    """Read a revision of a secret."""
    return SecretContent(id=source.id, revision=source.revision, content=dict(source.content))


def to_edit(source: SecretEffect) -> pb.SecretEdit:
    """Build the message of a change to a secret; raises `errors.InvalidField` for values that protobuf cannot hold."""
    match source:
        case SecretAdd():
            return field.build(pb.SecretEdit, id=source.id, add=_added(source))
        case SecretSet():
            return field.build(pb.SecretEdit, id=source.id, set=_change(source))
        case SecretGrant():
            return field.build(pb.SecretEdit, id=source.id, grant=_grant(source))
        case SecretRevoke():
            return field.build(pb.SecretEdit, id=source.id, revoke=_grant(source))
        case SecretRemove():
            removal = field.build(pb.SecretRemoval, revision=source.revision)
            return field.build(pb.SecretEdit, id=source.id, remove=removal)
        case SecretTrack():
            tracking = field.build(pb.SecretTracking, revision=source.revision, label=source.label)
            return field.build(pb.SecretEdit, id=source.id, track=tracking)


def _added(source: SecretAdd) -> pb.SecretChange:
    return field.build(
        pb.SecretChange,
        is_application=source.is_application,
        content=_texts(source.content),
        label=source.label or None,
        description=source.description or None,
        rotation=ROTATIONS.number(source.rotation),
        expires_at=_time(source.expires_at),
    )


def _change(source: SecretSet) -> pb.SecretChange:
    return field.build(
        pb.SecretChange,
        content=_texts(source.content or {}),
        label=source.label,
        description=source.description,
        rotation=None if source.rotation is None else ROTATIONS.number(source.rotation),
        expires_at=_time(source.expires_at),
    )


def _grant(source: SecretGrant | SecretRevoke) -> secret_service_pb2.SecretGrant:
    return field.build(
        secret_service_pb2.SecretGrant, relation=source.relation, application=source.application, unit=source.unit
    )


def _texts(source: Mapping[str, str]) -> dict[str, str]:
    return dict(source)


def _time(moment: datetime | None) -> timestamp_pb2.Timestamp | None:
    if moment is None:
        return None
    made = timestamp_pb2.Timestamp()
    made.FromDatetime(moment)
    return made
