"""The events of a unit, as handlers get them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from tinkwell.charm import errors
from tinkwell.charm.instance import Instance
from tinkwell.charm.relation import Relation
from tinkwell.core.unit.kinds import EventKind


@dataclass(eq=False, kw_only=True)
class Event:
    """One occurrence of a kind for one unit.

    `ordinal` is its place in the unit's life, from 1. `is_again` says that it was deferred, and comes back. `reason`
    says in events of a teardown why the unit or the relation is removed; otherwise it is empty.
    """

    kind: ClassVar[EventKind]
    can_defer: ClassVar[bool] = True
    # Why the event cannot be deferred.
    comes_once: ClassVar[str] = "the unit ends with it"

    ordinal: int
    is_again: bool = False
    reason: str = ""
    _is_deferred: bool = field(default=False, init=False, repr=False)

    @property
    def is_deferred(self) -> bool:
        """Whether `defer()` was called."""
        return self._is_deferred

    def defer(self) -> None:
        """Defer the event: this handler gets it again before the handlers of the unit's next event of any kind.

        The handler runs on to its end; return after the call. Other handlers of the event are not called again. A
        deferred event causes no new event: it waits until the unit's next event comes. It is handled before that event;
        if it is deferred again, that event is handled first. Raises `CannotDefer` for `stop` and `remove`, after which
        there is no next event, and for `secret-rotate` and `secret-expired`, which the server sends again by itself.
        """
        if not self.can_defer:
            raise errors.CannotDefer(f"{self.kind} cannot be deferred: {self.comes_once}")
        self._is_deferred = True


@dataclass(eq=False, kw_only=True)
class Install(Event):
    """The unit is new: install what it needs. This event comes once."""

    kind = EventKind.INSTALL


@dataclass(eq=False, kw_only=True)
class Start(Event):
    """The setup is over: start the unit's work."""

    kind = EventKind.START


@dataclass(eq=False, kw_only=True)
class Stop(Event):
    """The unit ends: stop its work. Its relations and storages are gone already."""

    kind = EventKind.STOP
    can_defer = False


@dataclass(eq=False, kw_only=True)
class Remove(Event):
    """The last event of the unit: remove everything that is left of it."""

    kind = EventKind.REMOVE
    can_defer = False


@dataclass(eq=False, kw_only=True)
class ConfigChanged(Event):
    """The application's options may have changed; it comes once during setup, too."""

    kind = EventKind.CONFIG_CHANGED


@dataclass(eq=False, kw_only=True)
class UpgradeCharm(Event):
    """The unit runs another revision of its charm, which is this code; `config-changed` and `start` follow."""

    kind = EventKind.UPGRADE_CHARM


@dataclass(eq=False, kw_only=True)
class UpdateStatus(Event):
    """Comes at an interval while no other event is due."""

    kind = EventKind.UPDATE_STATUS


@dataclass(eq=False, kw_only=True)
class LeaderElected(Event):
    """This unit is the new leader of its application."""

    kind = EventKind.LEADER_ELECTED


@dataclass(eq=False, kw_only=True)
class LeaderSettingsChanged(Event):
    """Another unit is the new leader of the application."""

    kind = EventKind.LEADER_SETTINGS_CHANGED


@dataclass(eq=False, kw_only=True)
class PreSeriesUpgrade(Event):
    """A user is about to upgrade the machine's operating system."""

    kind = EventKind.PRE_SERIES_UPGRADE


@dataclass(eq=False, kw_only=True)
class PostSeriesUpgrade(Event):
    """The machine's operating system has been upgraded."""

    kind = EventKind.POST_SERIES_UPGRADE


@dataclass(eq=False, kw_only=True)
class CollectMetrics(Event):
    """A user asked for the unit's metrics."""

    kind = EventKind.COLLECT_METRICS


@dataclass(eq=False, kw_only=True)
class RelationEvent(Event):
    """An event of a relation.

    `application` and `unit` say which remote unit it is about; `unit` is empty if it is about the whole application.
    `remote` is the bag of that unit or application, empty if there is none or it is gone.
    """

    relation: Relation
    application: str = ""
    unit: str = ""
    remote: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class RelationCreated(RelationEvent):
    """The relation was created. This is its first event."""

    kind = EventKind.RELATION_CREATED


@dataclass(eq=False, kw_only=True)
class RelationJoined(RelationEvent):
    """A unit has joined the relation; `changed` for it follows at once."""

    kind = EventKind.RELATION_JOINED


@dataclass(eq=False, kw_only=True)
class RelationChanged(RelationEvent):
    """A unit or an application has changed its bag."""

    kind = EventKind.RELATION_CHANGED


@dataclass(eq=False, kw_only=True)
class RelationDeparted(RelationEvent):
    """A unit has left the relation. `departing_unit` is the unit that leaves, which may be this unit itself."""

    kind = EventKind.RELATION_DEPARTED
    departing_unit: str = ""


@dataclass(eq=False, kw_only=True)
class RelationBroken(RelationEvent):
    """The relation is over for this unit. This is its last event."""

    kind = EventKind.RELATION_BROKEN


@dataclass(eq=False, kw_only=True)
class StorageEvent(Event):
    """An event of a storage."""

    storage: Instance


@dataclass(eq=False, kw_only=True)
class StorageAttached(StorageEvent):
    """The unit has a new storage. Events for storages that it is created with come before `install`."""

    kind = EventKind.STORAGE_ATTACHED


@dataclass(eq=False, kw_only=True)
class StorageDetaching(StorageEvent):
    """The unit loses the storage after this event."""

    kind = EventKind.STORAGE_DETACHING


@dataclass(eq=False, kw_only=True)
class SecretEvent(Event):
    """An event of a secret, which `secret` names, such as `secret:9m4e2mr0ui3e8a215n4g`.

    `label` is the owner's label if the unit owns the secret, otherwise this unit's own, and may be empty. `revision` is
    the revision that the event is about, 0 for none.
    """

    secret: str
    label: str = ""
    revision: int = 0


@dataclass(eq=False, kw_only=True)
class SecretChanged(SecretEvent):
    """A secret that the unit reads has a new revision: read it by `get` with `refresh`."""

    kind = EventKind.SECRET_CHANGED


@dataclass(eq=False, kw_only=True)
class SecretRotate(SecretEvent):
    """A secret of the unit must be rotated: give it new content."""

    kind = EventKind.SECRET_ROTATE
    can_defer = False
    comes_once = "the secret has to be rotated now"


@dataclass(eq=False, kw_only=True)
class SecretExpired(SecretEvent):
    """A revision of the unit's secret has expired: remove it, and give the secret new content if it is the newest."""

    kind = EventKind.SECRET_EXPIRED
    can_defer = False
    comes_once = "the revision has expired"


@dataclass(eq=False, kw_only=True)
class SecretRemove(SecretEvent):
    """No reader uses an older revision of a secret of the unit: remove that revision."""

    kind = EventKind.SECRET_REMOVE
