"""The effects of an event's handler: all of them are written in the transaction of the event's commit, or none is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from tinkwell.core.unit.kinds import Owner, Rotation, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class BagEdit:
    """Changes to a bag of the unit, or of its application: each key has its new text, or None to remove the key.

    If one event edits a key several times, the last edit counts.
    """

    relation: int
    owner: Owner
    edits: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port that the unit opens; `protocol` is `tcp`, `udp` or `icmp`. The number of `icmp` is 0."""

    protocol: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRequest:
    """A request for `count` more instances of a storage; `storage` is the name by which the charm declares it."""

    storage: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A deferred event: the handler named `handler` gets the event with this ordinal once more.

    `event` describes the event without its ordinal. Two notices of one handler are equal if their `event` is equal.
    """

    ordinal: int
    handler: str
    event: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAdd:
    """A new secret of the unit, or of its application with `is_application`; the caller has drawn the id."""

    id: str
    # The content appears in no text form of this object.
    content: Mapping[str, str] = field(repr=False)
    is_application: bool = False
    label: str = ""
    description: str = ""
    rotation: Rotation = Rotation.NEVER
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretSet:
    """Changes to a secret; None leaves a field as it is. All contents that one event gives make one revision.

    `expires_at` belongs to the revision that the content makes, or to the newest revision if there is no content.
    """

    id: str
    content: Mapping[str, str] | None = field(default=None, repr=False)
    label: str | None = None
    description: str | None = None
    rotation: Rotation | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretGrant:
    """Permission for an application's units, or for one unit, to read a secret while the relation lives."""

    id: str
    relation: int
    application: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRevoke:
    """Takes back the grants that match the fields; relation 0 stands for all relations."""

    id: str
    relation: int = 0
    application: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRemove:
    """Removes a revision of a secret, or the whole secret if `revision` is 0."""

    id: str
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretTrack:
    """Makes the unit read this revision from now on; 0 changes only the unit's label. None keeps the label."""

    id: str
    revision: int = 0
    label: str | None = None


SecretEffect: TypeAlias = SecretAdd | SecretSet | SecretGrant | SecretRevoke | SecretRemove | SecretTrack


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How a task has ended: `result` is a JSON object as text, `message` says why it did not succeed."""

    state: TaskState
    result: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The effects of an event or a task.

    Status, workload version and log lines are written at once and are not effects.

    `term` is the leader's term under which the application's bag or secret was written, 0 if neither was written.
    `secrets` are applied in their order. `state` maps a key of the unit's state to its text, or to None to remove the
    key. `deferred` are new notices. `consumed` are notices that were handled and are deleted. A notice that was handled
    and deferred again is in neither tuple, and keeps its place.
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
