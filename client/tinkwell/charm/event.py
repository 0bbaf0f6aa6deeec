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

    `ordinal`: its place in the unit's life, from 1. `is_again`: it was put off by `defer()`, and comes back. `reason`:
    why the unit or the relation goes, in events of a teardown, else empty.
    """

    kind: ClassVar[EventKind]
    can_defer: ClassVar[bool] = True
    # Why it cannot be put off.
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
        """Put the event off: this handler gets it again before the handlers of the unit's next event, whatever that is.

        The handler runs on to its end; return after the call. Other handlers of the event are not called again. Nothing
        wakes the unit for it. Put off once, it keeps its place before the next event. Put off twice, the next event
        overtakes it. Raises `CannotDefer` for `stop` and `remove`, after which there is no next event, and for
        `secret-rotate` and `secret-expired`, which come again by themselves.
        """
        if not self.can_defer:
            raise errors.CannotDefer(f"{self.kind} cannot be deferred: {self.comes_once}")
        self._is_deferred = True


@dataclass(eq=False, kw_only=True)
class Install(Event):
    """The unit is new: put there what it needs, once."""

    kind = EventKind.INSTALL


@dataclass(eq=False, kw_only=True)
class Start(Event):
    """Setup is over, and the unit begins to work."""

    kind = EventKind.START


@dataclass(eq=False, kw_only=True)
class Stop(Event):
    """The unit ends: stop what runs. Relations and storage are gone already."""

    kind = EventKind.STOP
    can_defer = False


@dataclass(eq=False, kw_only=True)
class Remove(Event):
    """The last event of the unit: put away what is left of it."""

    kind = EventKind.REMOVE
    can_defer = False


@dataclass(eq=False, kw_only=True)
class ConfigChanged(Event):
    """The application's options may have changed; it comes once during setup, too."""

    kind = EventKind.CONFIG_CHANGED


@dataclass(eq=False, kw_only=True)
class UpgradeCharm(Event):
    """The unit has another revision of its charm, whose code this is; `config-changed` and `start` follow."""

    kind = EventKind.UPGRADE_CHARM


@dataclass(eq=False, kw_only=True)
class UpdateStatus(Event):
    """It comes now and then while nothing else is due."""

    kind = EventKind.UPDATE_STATUS


@dataclass(eq=False, kw_only=True)
class LeaderElected(Event):
    """This unit leads its application from now on."""

    kind = EventKind.LEADER_ELECTED


@dataclass(eq=False, kw_only=True)
class LeaderSettingsChanged(Event):
    """Another unit leads the application from now on."""

    kind = EventKind.LEADER_SETTINGS_CHANGED


@dataclass(eq=False, kw_only=True)
class PreSeriesUpgrade(Event):
    """Somebody is about to upgrade the machine's operating system."""

    kind = EventKind.PRE_SERIES_UPGRADE


@dataclass(eq=False, kw_only=True)
class PostSeriesUpgrade(Event):
    """The machine's operating system is upgraded."""

    kind = EventKind.POST_SERIES_UPGRADE


@dataclass(eq=False, kw_only=True)
class CollectMetrics(Event):
    """Somebody asked for the unit's metrics."""

    kind = EventKind.COLLECT_METRICS


@dataclass(eq=False, kw_only=True)
class RelationEvent(Event):
    """An event of a relation.

    `application` is whom it is about, and `unit` which unit of it; `unit` is empty where it is about the application.
    `remote` is the bag of that unit, or else of that application: empty where there is none, or none any more.
    """

    relation: Relation
    application: str = ""
    unit: str = ""
    remote: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class RelationCreated(RelationEvent):
    """The application became related. It comes before all else of its relation."""

    kind = EventKind.RELATION_CREATED


@dataclass(eq=False, kw_only=True)
class RelationJoined(RelationEvent):
    """A unit is there now; its `changed` follows at once."""

    kind = EventKind.RELATION_JOINED


@dataclass(eq=False, kw_only=True)
class RelationChanged(RelationEvent):
    """A unit, or an application, has changed its bag."""

    kind = EventKind.RELATION_CHANGED


@dataclass(eq=False, kw_only=True)
class RelationDeparted(RelationEvent):
    """A unit is not there any more. `departing_unit` is the one that goes, which may be this unit itself."""

    kind = EventKind.RELATION_DEPARTED
    departing_unit: str = ""


@dataclass(eq=False, kw_only=True)
class RelationBroken(RelationEvent):
    """The relation is over for this unit; nothing of it follows."""

    kind = EventKind.RELATION_BROKEN


@dataclass(eq=False, kw_only=True)
class StorageEvent(Event):
    """An event of a storage."""

    storage: Instance


@dataclass(eq=False, kw_only=True)
class StorageAttached(StorageEvent):
    """The unit has a storage from now on; storage that it is created with comes before `install`."""

    kind = EventKind.STORAGE_ATTACHED


@dataclass(eq=False, kw_only=True)
class StorageDetaching(StorageEvent):
    """The unit has the storage for the length of this event only."""

    kind = EventKind.STORAGE_DETACHING


@dataclass(eq=False, kw_only=True)
class SecretEvent(Event):
    """An event of a secret, by its name such as `secret:9m4e2mr0ui3e8a215n4g`.

    `label` is the owner's for an owner, else the one that the unit has given it, and may be empty. `revision` is the
    one that the event is about, 0 where it is about none.
    """

    secret: str
    label: str = ""
    revision: int = 0


@dataclass(eq=False, kw_only=True)
class SecretChanged(SecretEvent):
    """A secret that the unit reads has a new revision: `get` with `refresh` reads that."""

    kind = EventKind.SECRET_CHANGED


@dataclass(eq=False, kw_only=True)
class SecretRotate(SecretEvent):
    """It is time to give an own secret other content."""

    kind = EventKind.SECRET_ROTATE
    can_defer = False
    comes_once = "the secret has to be rotated now"


@dataclass(eq=False, kw_only=True)
class SecretExpired(SecretEvent):
    """A revision of an own secret has expired: remove it, and give the secret other content if it is the newest."""

    kind = EventKind.SECRET_EXPIRED
    can_defer = False
    comes_once = "the revision has expired"


@dataclass(eq=False, kw_only=True)
class SecretRemove(SecretEvent):
    """Nobody reads an older revision of an own secret any more: remove it."""

    kind = EventKind.SECRET_REMOVE
