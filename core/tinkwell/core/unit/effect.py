"""What the handler of an event leaves: all of it is written together with the event's commit, or nothing is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from tinkwell.core.unit.kinds import Owner, Rotation, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class BagEdit:
    """What changes in a bag of the unit, or of its application: text for a key, or None to remove it.

    The last edit of a bag's key in an event is the one that counts.
    """

    relation: int
    owner: Owner
    edits: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that a unit says it opens; `protocol` is `tcp`, `udp` or `icmp`, which has the number 0."""

    protocol: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRequest:
    """How many more instances of a storage a unit asks for, by the name under which its charm declares it."""

    storage: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A handler that is to hear an event once more: `handler` names it, `ordinal` is the event's.

    Two notices of one handler are equal if `event` is: what the event says but for its ordinal.
    """

    ordinal: int
    handler: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAdd:
    """A new secret of the unit, or with `is_application` of its application, whose id its maker has drawn."""

    id: str
    # What is secret is in no text that is made of this.
    content: Mapping[str, str] = field(repr=False)
    is_application: bool = False
    label: str = ""
    description: str = ""
    rotation: Rotation = Rotation.NEVER
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSet:
    """What changes of a secret; None stays. All that has content in one event makes one revision.

    `expires_at` is when the revision expires that the content makes, and without content the newest one.
    """

    id: str
    content: Mapping[str, str] | None = field(default=None, repr=False)
    label: str | None = None
    description: str | None = None
    rotation: Rotation | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretGrant:
    """The units of an application, or one unit, may read a secret for as long as the relation lives."""

    id: str
    relation: int
    application: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRevoke:
    """What was granted is taken back, as far as it fits: relation 0 stands for all relations."""

    id: str
    relation: int = 0
    application: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRemove:
    """A revision is removed, or with 0 the whole secret."""

    id: str
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretTrack:
    """The unit reads this revision from now on; with 0 only its label for the secret changes. None leaves the label."""

    id: str
    revision: int = 0
    label: str | None = None


SecretEffect: TypeAlias = SecretAdd | SecretSet | SecretGrant | SecretRevoke | SecretRemove | SecretTrack


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How a task has ended: `result` is a JSON object as text, `message` says why it has not SUCCEEDED."""

    state: TaskState
    result: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What an event, or a task, changes beside what is immediate (status, workload version and lines of log).

    `term` is the one under which a bag or a secret of an application was written, 0 if none was. `secrets` are done in
    their order. `state` has text for a key of the
    unit's state, None to remove it. `deferred` are notices that are new, `consumed` those that were heard and are gone;
    a notice that was heard and deferred again is in neither, and keeps its place.
    """

    term: int = 0
    bags: tuple[BagEdit, ...] = ()
    state: Mapping[str, str | None] = field(default_factory=dict)
    opened: tuple[Port, ...] = ()
    closed: tuple[Port, ...] = ()
    storages: tuple[StorageRequest, ...] = ()
    deferred: tuple[Notice, ...] = ()
    consumed: tuple[Notice, ...] = ()
    secrets: tuple[SecretEffect, ...] = ()


NO_EFFECTS = Effects()
