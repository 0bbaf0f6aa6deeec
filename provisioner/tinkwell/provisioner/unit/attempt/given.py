"""What a unit has at a grant: all that the programs of its charm may know without asking."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.effect import Port


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation that the unit is in. `application` is the other side, or the unit's own for a peer relation.

    `members` are units of the other side, or peers. The own application's bag is None where the unit may not read it.
    """

    number: int
    endpoint: str
    application: str
    is_peer: bool = False
    members: tuple[str, ...] = ()
    unit_bag: Mapping[str, str] = field(default_factory=dict)
    application_bag: Mapping[str, str] | None = None

    @property
    def id(self) -> str:
        """The relation's name for charms, such as `db:7`."""
        return f"{self.endpoint}:{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Who may read a secret: an application, or one unit of it, for as long as a relation lives."""

    relation: int
    application: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """What the unit knows of a secret without its content. `owner` is a unit or an application, empty for a user.

    `is_owned` says that the unit may change it. `label` is the owner's for an owner, and else the unit's own. `latest`
    is the newest revision, `tracked` the one that the unit reads, 0 for none yet. Only an owner knows the rest.
    """

    id: str
    owner: str = ""
    is_owned: bool = False
    label: str = ""
    description: str = ""
    latest: int = 0
    tracked: int = 0
    rotation: str = "NEVER"
    rotates_at: datetime.datetime | None = None
    expires_at: datetime.datetime | None = None
    revisions: tuple[int, ...] = ()
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What the attempt is asked to do in place of an event: an action of the charm, or with `arguments` a command."""

    id: str
    name: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What the attempt is about. `name` is the event's, such as `db-relation-changed`; what does not apply is empty.

    `kind` is the event's without its endpoint or storage. `secret` is an id, and `revision` the one that the event is
    about, 0 where it names none. With a `task` there is no event.
    """

    name: str = ""
    kind: str = ""
    relation: int = 0
    endpoint: str = ""
    application: str = ""
    unit: str = ""
    departing_unit: str = ""
    storage: str = ""
    secret: str = ""
    revision: int = 0
    task: Task | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What a unit, or the leader for its application, says of itself."""

    name: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the unit has at the grant. `storages` are the folders by the names of what is attached.

    `model` identifies the namespace, and `addresses` are those of the unit's machine.
    """

    unit: str
    namespace: str
    occasion: Occasion
    model: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    relations: Mapping[int, Relation] = field(default_factory=dict)
    storages: Mapping[str, str] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)
    status: Status = field(default_factory=Status)
    application_status: Status = field(default_factory=Status)
    ports: frozenset[Port] = frozenset()
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    # The bag of whom the event tells, by the owner; None where it has to be asked for.
    remote: tuple[str, Mapping[str, str]] | None = None

    @property
    def application(self) -> str:
        """The unit's application."""
        return self.unit.rpartition("/")[0]
