"""Secrets, as calls return and events carry them. Only `RevealedSecret` has content."""

from dataclasses import dataclass, field
from datetime import datetime

from tinkwell.api.v1 import secret_service_pb2 as pb
from tinkwell.client.value import field as fields
from tinkwell.client.value import shape, shaped
from tinkwell.client.value.enumeration import Enumeration
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit.kinds import Rotation

ROTATIONS = Enumeration(Rotation, pb.SecretRotation, "SECRET_ROTATION")


@dataclass(frozen=True, slots=True)
class SecretRevision(Shaped):
    """A revision of a secret; `readers` are the names of the units that read it."""

    revision: int
    expires_at: datetime | None = None
    created_at: datetime | None = None
    readers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretGranted(Shaped):
    """A grant of a secret to the units of an application, or to one unit, while a relation lives.

    A user's secret is granted without a relation; `relation` is 0 then.
    """

    relation: int = 0
    application: str = ""
    unit: str = ""


@shaped.resource(ResourceType.SECRET)
@dataclass(frozen=True, slots=True)
class Secret(Shaped):
    """A secret of a unit, of an application, or with an empty `owner` of a user.

    `name` is the one by which charms know it. `label` is its owner's, and `latest` the newest revision. Events leave
    out revisions and grants.
    """

    id: str
    application_id: str = ""
    namespace: str = ""
    name: str = ""
    owner: str = ""
    label: str = ""
    description: str = ""
    rotation: Rotation = Rotation.NEVER
    rotates_at: datetime | None = None
    latest: int = 0
    revisions: tuple[SecretRevision, ...] = field(default=(), metadata=shape.OPTIONAL)
    grants: tuple[SecretGranted, ...] = field(default=(), metadata=shape.OPTIONAL)
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RevealedSecret(Shaped):
    """A revision of a secret with its content, which `repr` and `str` leave out, and `to_json` has."""

    name: str
    revision: int
    content: dict[str, str] = field(repr=False)


def read(source: pb.Secret) -> Secret:
    """Read a secret."""
    return Secret(
        id=source.id,
        namespace=source.namespace,
        name=source.name,
        owner=source.owner,
        label=source.label,
        description=source.description,
        rotation=rotation(source.rotation),
        rotates_at=fields.time(source, "rotates_at"),
        latest=source.latest,
        revisions=tuple(_revision(each) for each in source.revisions),
        grants=tuple(granted(each) for each in source.grants),
        version=source.version,
        created_at=fields.time(source, "created_at"),
        updated_at=fields.time(source, "updated_at"),
    )


def rotation(number: pb.SecretRotation.ValueType) -> Rotation:
    """Read the rotation of a secret."""
    return ROTATIONS.member(number) if number else Rotation.NEVER


def granted(source: pb.SecretGrant) -> SecretGranted:
    """Read a grant."""
    return SecretGranted(source.relation, source.application, source.unit)


def _revision(source: pb.SecretRevision) -> SecretRevision:
    return SecretRevision(
        source.revision, fields.time(source, "expires_at"), fields.time(source, "created_at"), tuple(source.readers)
    )
