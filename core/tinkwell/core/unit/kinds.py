"""The kinds and states of units, their events and relations, named as everywhere outside protobuf."""

import calendar
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class EventKind(StrEnum):
    """What an event tells a unit, by the name that charms know, without that of its endpoint or storage."""

    STORAGE_ATTACHED = "storage-attached"
    INSTALL = "install"
    RELATION_CREATED = "relation-created"
    LEADER_ELECTED = "leader-elected"
    LEADER_SETTINGS_CHANGED = "leader-settings-changed"
    CONFIG_CHANGED = "config-changed"
    START = "start"
    RELATION_JOINED = "relation-joined"
    RELATION_CHANGED = "relation-changed"
    RELATION_DEPARTED = "relation-departed"
    RELATION_BROKEN = "relation-broken"
    SECRET_CHANGED = "secret-changed"
    SECRET_ROTATE = "secret-rotate"
    SECRET_EXPIRED = "secret-expired"
    SECRET_REMOVE = "secret-remove"
    UPGRADE_CHARM = "upgrade-charm"
    PRE_SERIES_UPGRADE = "pre-series-upgrade"
    POST_SERIES_UPGRADE = "post-series-upgrade"
    COLLECT_METRICS = "collect-metrics"
    UPDATE_STATUS = "update-status"
    STORAGE_DETACHING = "storage-detaching"
    STOP = "stop"
    REMOVE = "remove"

    @property
    def is_relation(self) -> bool:
        """Whether it is about a relation, whose number and endpoint it has."""
        return self in _RELATION

    @property
    def is_storage(self) -> bool:
        """Whether it is about a storage, whose name it has."""
        return self in (EventKind.STORAGE_ATTACHED, EventKind.STORAGE_DETACHING)

    @property
    def is_secret(self) -> bool:
        """Whether it is about a secret, whose id it has."""
        return self in _SECRET

    @property
    def is_of_revision(self) -> bool:
        """Whether it comes for each revision of a secret by itself."""
        return self in (EventKind.SECRET_EXPIRED, EventKind.SECRET_REMOVE)

    @property
    def is_teardown(self) -> bool:
        """Whether it takes something away, so that a unit which is to be removed may still get it."""
        return self in TEARDOWN


_RELATION = frozenset(
    {
        EventKind.RELATION_CREATED,
        EventKind.RELATION_JOINED,
        EventKind.RELATION_CHANGED,
        EventKind.RELATION_DEPARTED,
        EventKind.RELATION_BROKEN,
    }
)
_SECRET = frozenset(
    {EventKind.SECRET_CHANGED, EventKind.SECRET_ROTATE, EventKind.SECRET_EXPIRED, EventKind.SECRET_REMOVE}
)
# The only events of a unit from the first one on that it gets because it is removed.
TEARDOWN = frozenset(
    {
        EventKind.RELATION_DEPARTED,
        EventKind.RELATION_BROKEN,
        EventKind.STORAGE_DETACHING,
        EventKind.STOP,
        EventKind.REMOVE,
    }
)
# The names of the document for events that have another one.
ALIASES = {
    "storage-detached": EventKind.STORAGE_DETACHING,
    "secret-expire": EventKind.SECRET_EXPIRED,
    "secret-removed": EventKind.SECRET_REMOVE,
}


class EventState(StrEnum):
    """The state of a unit's event. RUNNING and ERROR are in flight, of which a unit has at most one."""

    RUNNING = "RUNNING"
    ERROR = "ERROR"
    COMMITTED = "COMMITTED"
    SKIPPED = "SKIPPED"
    # It lost its ground, and is as if it had never been granted, but for its ordinal.
    WITHDRAWN = "WITHDRAWN"
    # Its unit was removed by force.
    ABANDONED = "ABANDONED"

    @property
    def is_final(self) -> bool:
        """Whether nothing may change this state any more."""
        return self not in (EventState.RUNNING, EventState.ERROR)


class Life(StrEnum):
    """How long an application, a unit, a relation or a storage still lives. It never goes back."""

    ALIVE = "ALIVE"
    # Its removal was asked for; whoever was told of it is told that it goes.
    DYING = "DYING"
    DEAD = "DEAD"


class Phase(StrEnum):
    """How far the life of a unit is. It waits until its first event is granted, and is gone after its last one."""

    WAITING = "WAITING"
    SETUP = "SETUP"
    OPERATION = "OPERATION"
    TEARDOWN = "TEARDOWN"


class Profile(StrEnum):
    """Whose order of events an application gets: that of the document, or the one that Juju keeps of it.

    With JUJU, units of one application meet in peer relations only, nobody is told of its own write, and a peer
    relation that a new charm brings is created in Operation.
    """

    LITERAL = "LITERAL"
    JUJU = "JUJU"


class Membership(StrEnum):
    """How far a unit is in a relation: its relation-created is granted, is committed, or it has left."""

    ENTERING = "ENTERING"
    IN = "IN"
    LEFT = "LEFT"


class CharmKind(StrEnum):
    """What a charm is."""

    # A program that is written with the library.
    NATIVE = "NATIVE"
    # Executables in a folder `hooks`.
    SCRIPTS = "SCRIPTS"
    # Written for Juju, with the framework ops or with hooks.
    OPS = "OPS"


class Rotation(StrEnum):
    """How often the owner of a secret is told to give it another revision."""

    NEVER = "NEVER"
    HOURLY = "HOURLY"
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    QUARTERLY = "QUARTERLY"
    YEARLY = "YEARLY"

    def next_after(self, moment: datetime) -> datetime | None:
        """Return when it is due next if it was at `moment`, None for NEVER.

        A month is one of the calendar, and ends with its last day: a month after the 31st of January is the last of
        February.
        """
        if self is Rotation.NEVER:
            return None
        if self in _SPANS:
            return moment + _SPANS[self]
        months = moment.year * 12 + moment.month - 1 + _MONTHS[self]
        year, month = months // 12, months % 12 + 1
        return moment.replace(year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1]))


_SPANS: Mapping[Rotation, timedelta] = {
    Rotation.HOURLY: timedelta(hours=1),
    Rotation.DAILY: timedelta(days=1),
    Rotation.WEEKLY: timedelta(weeks=1),
}
_MONTHS: Mapping[Rotation, int] = {Rotation.MONTHLY: 1, Rotation.QUARTERLY: 3, Rotation.YEARLY: 12}


class TaskKind(StrEnum):
    """What a unit is asked to run: an action of its charm, or a command."""

    ACTION = "ACTION"
    EXEC = "EXEC"


class TaskState(StrEnum):
    """The state of a task. A unit has at most one that is RUNNING, and none while an event of it is RUNNING."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Whether nothing may change this state any more."""
        return self not in (TaskState.PENDING, TaskState.RUNNING)


class StepKind(StrEnum):
    """A step of the setup that is planned when `install` is committed."""

    RELATION_CREATED = "relation-created"
    # leader-elected, leader-settings-changed or nothing, as it is when its turn comes.
    LEADER = "leader"
    CONFIG_CHANGED = "config-changed"
    START = "start"


class Owner(StrEnum):
    """Whose bag of a relation it is: each unit and each application that is in it has one."""

    UNIT = "UNIT"
    APPLICATION = "APPLICATION"


class Verdict(StrEnum):
    """What becomes of an event that failed or was lost."""

    # It comes again, as the next attempt.
    RETRY = "RETRY"
    # It is left out, and so is the rest of the forced queue.
    SKIP = "SKIP"
    # Its ground is gone: as if it had never been granted.
    WITHDRAW = "WITHDRAW"


class Reason(StrEnum):
    """Why a teardown event comes."""

    UNIT_REMOVED = "UNIT_REMOVED"
    APPLICATION_REMOVED = "APPLICATION_REMOVED"
    RELATION_REMOVED = "RELATION_REMOVED"
    # The remote unit was removed by force.
    FORCED = "FORCED"


class Leaving(StrEnum):
    """Who leaves, as a teardown event says it: the unit that gets it, the remote side, or the relation."""

    SELF = "SELF"
    REMOTE = "REMOTE"
    RELATION = "RELATION"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an event tells, in one sentence for people, and in which phases of a unit's life it comes."""

    text: str
    phases: tuple[Phase, ...]


_SETUP, _OPERATION, _TEARDOWN = (Phase.SETUP,), (Phase.OPERATION,), (Phase.TEARDOWN,)
# In the order in which a life has them first.
MEANINGS: Mapping[EventKind, Meaning] = {
    EventKind.STORAGE_ATTACHED: Meaning("The unit has a storage now.", _SETUP + _OPERATION),
    EventKind.INSTALL: Meaning("The unit is new; it installs what it runs.", _SETUP),
    EventKind.RELATION_CREATED: Meaning("The unit is in a relation, and may write into its bag.", _SETUP + _OPERATION),
    EventKind.LEADER_ELECTED: Meaning("The unit leads its application.", _SETUP + _OPERATION),
    EventKind.LEADER_SETTINGS_CHANGED: Meaning("Another unit leads the application.", _SETUP + _OPERATION),
    EventKind.CONFIG_CHANGED: Meaning("The configuration is new, or another one.", _SETUP + _OPERATION),
    EventKind.START: Meaning("The unit is set up, or its charm upgraded; it begins its work.", _SETUP + _OPERATION),
    EventKind.RELATION_JOINED: Meaning("A unit has entered the relation; its change follows at once.", _OPERATION),
    EventKind.RELATION_CHANGED: Meaning("The bag of a unit or of an application has changed.", _OPERATION),
    EventKind.RELATION_DEPARTED: Meaning(
        "A unit has left the relation, or this one leaves it.", _OPERATION + _TEARDOWN
    ),
    EventKind.RELATION_BROKEN: Meaning("The relation is over for the unit.", _OPERATION + _TEARDOWN),
    EventKind.SECRET_CHANGED: Meaning("A secret that the unit reads has a new revision.", _OPERATION),
    EventKind.SECRET_ROTATE: Meaning("It is time for a new revision of a secret that the unit owns.", _OPERATION),
    EventKind.SECRET_EXPIRED: Meaning("A revision of a secret that the unit owns has expired.", _OPERATION),
    EventKind.SECRET_REMOVE: Meaning("Nobody reads a revision of a secret that the unit owns any more.", _OPERATION),
    EventKind.UPGRADE_CHARM: Meaning("The unit runs on another charm from now on.", _OPERATION),
    EventKind.PRE_SERIES_UPGRADE: Meaning("The machine's system is to be upgraded.", _OPERATION),
    EventKind.POST_SERIES_UPGRADE: Meaning("The machine's system was upgraded.", _OPERATION),
    EventKind.COLLECT_METRICS: Meaning("Somebody has asked for the unit's metrics.", _OPERATION),
    EventKind.UPDATE_STATUS: Meaning("It is time to look after the status; nothing else is due.", _OPERATION),
    EventKind.STORAGE_DETACHING: Meaning("A storage is about to go.", _OPERATION + _TEARDOWN),
    EventKind.STOP: Meaning("The unit ends its work.", _TEARDOWN),
    EventKind.REMOVE: Meaning("The unit takes away what it has left; it gets nothing more.", _TEARDOWN),
}

# What units say of themselves, or is said of them. The first of these that a unit has is the status of an application
# whose leader says nothing.
STATUS_URGENCY = ("error", "blocked", "maintenance", "waiting", "active", "unknown")
