"""The log's entries about units, as typed records: one record for each entry.

`read` takes an entry's types and data as Watch shows them. Entries that do not concern units have no record.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypedDict

from tinkwell.core.unit.kinds import EventKind, EventState, Life, Phase, Profile, Rotation, TaskState
from tinkwell.core.value.document import JsonObject


class Entry(Protocol):
    """An entry of the log; `parent_id` is the application's id for units, unit events, storage, secrets and tasks."""

    @property
    def revision(self) -> int: ...
    @property
    def resource_type(self) -> str: ...
    @property
    def event_type(self) -> str: ...
    @property
    def resource_id(self) -> str: ...
    @property
    def parent_id(self) -> str: ...
    @property
    def data(self) -> JsonObject: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The entry's place in the log, and the resource it is about; `change` is the entry's type."""

    revision: int
    change: str
    resource_id: str
    parent_id: str

    @property
    def is_deleted(self) -> bool:
        return self.change == "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord(Place):
    """A unit event in one of its states. `relation` is 0 if it is about no relation."""

    unit: str
    kind: EventKind
    ordinal: int
    attempt: int
    state: EventState
    relation: int
    endpoint: str
    is_peer: bool
    application: str
    remote: str
    departing_unit: str
    storage: str
    secret: str
    secret_revision: int
    is_mirrored: bool
    is_echo: bool
    config: int
    charm: str
    term: int
    bag: int
    phase: Phase | None

    @property
    def name(self) -> str:
        """The event's name in messages: `db-relation-joined (pg/0)`."""
        first = self.endpoint or self.storage.partition("/")[0]
        about = self.remote or self.application or self.storage or self.secret
        name = f"{first}-{self.kind}" if first else str(self.kind)
        return f"{name} ({about})" if about else name


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRecord(Place):
    name: str
    namespace: str
    life: Life
    is_forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationRecord(Place):
    name: str
    namespace: str
    life: Life
    charm: str
    profile: Profile
    config_version: int
    leader: str
    term: int
    announced_term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationRecord(Place):
    """A relation; `ends` are pairs of an application and an endpoint."""

    number: int
    namespace: str
    is_peer: bool
    life: Life
    ends: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BagRecord(Place):
    """A new version of a bag, whose owner is a unit or an application."""

    number: int
    owner: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRecord(Place):
    """An instance of storage, and the unit that it belongs to."""

    name: str
    namespace: str
    unit: str
    life: Life


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """An application's units, or one unit, may read a secret; relation 0 means as long as the secret exists."""

    relation: int
    application: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRecord(Place):
    """A secret, by the id that charms know; its owner is a unit, an application, or "" for users.

    `grants` is None if the entry does not say who may read it.
    """

    name: str
    namespace: str
    owner: str
    is_rotated: bool
    latest: int
    grants: tuple[GrantRecord, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord(Place):
    """A task of a unit in one of its states."""

    unit: str
    name: str
    state: TaskState


Record: TypeAlias = (
    EventRecord
    | UnitRecord
    | ApplicationRecord
    | RelationRecord
    | BagRecord
    | StorageRecord
    | SecretRecord
    | TaskRecord
)


def read(entry: Entry) -> Record | None:
    """Return the record of an entry, or None if the entry does not concern units.

    Raises:
        ValueError: its data are not what entries of this type have; the message says which.
    """
    try:
        return _read(entry)
    except (KeyError, TypeError, ValueError) as error:
        text = f"the data of revision {entry.revision}, {entry.resource_type} {entry.event_type}, are wrong: {error!r}"
        raise ValueError(text) from error


def _read(entry: Entry) -> Record | None:
    match entry.resource_type:
        case "UNIT_EVENT":
            return _event(entry, entry.data)
        case "UNIT" if entry.event_type != "UNIT_STATUS_CHANGED":
            return _unit(entry, entry.data)
        case "APPLICATION":
            return _application(entry, entry.data)
        case "RELATION" if entry.event_type == "RELATION_CHANGED":
            return BagRecord(
                **_place(entry),
                number=_number(entry.data, "number"),
                owner=_text(entry.data, "owner"),
                version=_number(entry.data, "version"),
            )
        case "RELATION":
            return _relation(entry, entry.data)
        case "STORAGE":
            return StorageRecord(
                **_place(entry),
                name=_text(entry.data, "name"),
                namespace=_text(entry.data, "namespace"),
                unit=_text(entry.data, "unit", ""),
                life=Life(_text(entry.data, "life")),
            )
        case "SECRET":
            return _secret(entry, entry.data)
        case "TASK":
            return TaskRecord(
                **_place(entry),
                unit=_text(entry.data, "unit"),
                name=_text(entry.data, "name", ""),
                state=TaskState(_text(entry.data, "state")),
            )
    return None


def _event(entry: Entry, data: JsonObject) -> EventRecord | None:
    if entry.event_type in ("DELETED", "UPDATED"):
        # Retention deletes old events, which still have happened. A retry of a failed event is no step of its life.
        return None
    relation = _part(data, "relation")
    seen = _part(data, "seen")
    secret = _part(data, "secret")
    phase = _text(data, "phase", "")
    return EventRecord(
        **_place(entry),
        unit=_text(data, "unit"),
        kind=EventKind(_text(data, "kind")),
        ordinal=_number(data, "ordinal"),
        attempt=_number(data, "attempt"),
        state=EventState(_text(data, "state")),
        relation=_number(relation, "number", 0),
        endpoint=_text(relation, "endpoint", ""),
        is_peer=relation.get("peer") is True,
        application=_text(relation, "application", ""),
        remote=_text(relation, "unit", ""),
        departing_unit=_text(relation, "departing_unit", ""),
        storage=_text(data, "storage", ""),
        secret=_text(secret, "id", ""),
        secret_revision=_number(secret, "revision", 0),
        is_mirrored=data.get("mirrored") is True,
        is_echo=data.get("echo") is True,
        config=_number(seen, "config", 0),
        charm=_text(seen, "charm", ""),
        term=_number(seen, "term", 0),
        bag=_number(seen, "bag", 0),
        phase=Phase(phase) if phase else None,
    )


def _unit(entry: Entry, data: JsonObject) -> UnitRecord:
    return UnitRecord(
        **_place(entry),
        name=_text(data, "name"),
        namespace=_text(data, "namespace"),
        life=Life(_text(data, "life")),
        is_forced=data.get("forced") is True,
    )


def _application(entry: Entry, data: JsonObject) -> ApplicationRecord:
    return ApplicationRecord(
        **_place(entry),
        name=_text(data, "name"),
        namespace=_text(data, "namespace"),
        life=Life(_text(data, "life")),
        charm=_text(data, "charm"),
        profile=Profile(_text(data, "profile")),
        config_version=_number(data, "config_version"),
        leader=_text(data, "leader", ""),
        term=_number(data, "term"),
        announced_term=_number(data, "announced_term"),
    )


def _relation(entry: Entry, data: JsonObject) -> RelationRecord:
    ends = data["ends"]
    if not isinstance(ends, list):
        raise TypeError("ends")
    return RelationRecord(
        **_place(entry),
        number=_number(data, "number"),
        namespace=_text(data, "namespace"),
        is_peer=data.get("peer") is True,
        life=Life(_text(data, "life")),
        ends=tuple((_text(end, "application"), _text(end, "endpoint")) for end in ends if isinstance(end, dict)),
    )


def _secret(entry: Entry, data: JsonObject) -> SecretRecord:
    grants = data.get("grants")
    if grants is not None and not isinstance(grants, list):
        raise TypeError("grants")
    return SecretRecord(
        **_place(entry),
        name=_text(data, "name"),
        namespace=_text(data, "namespace"),
        owner=_text(data, "owner", ""),
        is_rotated=_text(data, "rotation") != Rotation.NEVER,
        latest=_number(data, "latest"),
        grants=None
        if grants is None
        else tuple(
            GrantRecord(_number(each, "relation", 0), _text(each, "application"), _text(each, "unit", ""))
            for each in grants
            if isinstance(each, dict)
        ),
    )


class _Placed(TypedDict):
    revision: int
    change: str
    resource_id: str
    parent_id: str


def _place(entry: Entry) -> _Placed:
    return {
        "revision": entry.revision,
        "change": entry.event_type,
        "resource_id": entry.resource_id,
        "parent_id": entry.parent_id,
    }


def _part(data: JsonObject, name: str) -> JsonObject:
    value = data.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(name)
    return value


def _text(data: JsonObject, name: str, default: str | None = None) -> str:
    value = data[name] if default is None else data.get(name, default)
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _number(data: JsonObject, name: str, default: int | None = None) -> int:
    value = data[name] if default is None else data.get(name, default)
    if not isinstance(value, int):
        raise TypeError(name)
    return value
