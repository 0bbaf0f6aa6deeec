"""The events of units, as calls return them and the events of the log carry them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tinkwell.client.value import shaped
from tinkwell.client.value.shaped import Shaped
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.unit import unit_event
from tinkwell.core.unit.kinds import EventKind, EventState, Phase


@dataclass(frozen=True, slots=True)
class EventRelation(Shaped):
    """The relation that an event is about, with the remote application; `unit` and `departing_unit` may be empty."""

    number: int
    endpoint: str = ""
    peer: bool = False
    application: str = ""
    unit: str = ""
    departing_unit: str = ""


@dataclass(frozen=True, slots=True)
class EventSecret(Shaped):
    """The secret that an event is about: its id of 20 characters, and the `label` that the unit has given it."""

    id: str
    label: str = ""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class EventSeen(Shaped):
    """The versions that an attempt sees: of the configuration, the charm's digest, the term and the remote bag."""

    config: int = 0
    charm: str = ""
    term: int = 0
    bag: int = 0


@shaped.resource(ResourceType.UNIT_EVENT)
@dataclass(frozen=True, slots=True)
class UnitEvent(Shaped):
    """One occurrence of a kind of event for one unit; `ordinal` counts the unit's events, from 1.

    `relation` is set only for events of relations, and `secret` only for events of secrets. `reason` and `leaving` say
    why a teardown event comes, and `actor` who asked for the teardown. `cause` is the change that made the event due,
    such as {"type": "RELATION", "id": …, "owner": "pg/0", "version": 4, "actor": ""}. `message` says why the newest
    attempt failed, and `retry_at` when the event is tried again. `deferred` and `consumed` count the notices that its
    commit added and removed.
    """

    id: str
    application_id: str = ""
    unit_id: str = ""
    namespace: str = ""
    unit: str = ""
    kind: EventKind = EventKind.INSTALL
    ordinal: int = 0
    attempt: int = 0
    state: EventState = EventState.RUNNING
    phase: Phase = Phase.SETUP
    relation: EventRelation | None = None
    storage: str = ""
    mirrored: bool = False
    echo: bool = False
    seen: EventSeen = field(default_factory=EventSeen)
    reason: str = ""
    leaving: str = ""
    actor: str = ""
    cause: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    deferred: int = 0
    consumed: int = 0
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    retry_at: datetime | None = None
    secret: EventSecret | None = None

    @property
    def name(self) -> str:
        """Its name as charms know it, such as db-relation-joined."""
        return self.told.name

    @property
    def told(self) -> unit_event.UnitEvent:
        """The event as its unit is told it."""
        relation = self.relation or EventRelation(0)
        return unit_event.UnitEvent(
            kind=self.kind,
            relation=relation.number,
            endpoint=relation.endpoint,
            application=relation.application,
            unit=relation.unit,
            departing_unit=relation.departing_unit,
            storage=self.storage,
            is_mirrored=self.mirrored,
            is_echo=self.echo,
            secret=self.secret.id if self.secret else "",
            revision=self.secret.revision if self.secret else 0,
            seen=unit_event.Seen(
                config=self.seen.config, charm=self.seen.charm, term=self.seen.term, bag=self.seen.bag
            ),
        )
