"""The kinds and states of units, of their events and of their relations, with the names that all layers use."""

import calendar
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum


class EventKind(StrEnum):
    """The kind of a unit event, by the name that charms know, without the endpoint or storage in front."""

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
        """Whether the event is about a relation; it then has the relation's number and endpoint."""
        return self in _RELATION

    @property
    def is_storage(self) -> bool:
        """Whether the event is about a storage; it then has the storage's name."""
        return self in (EventKind.STORAGE_ATTACHED, EventKind.STORAGE_DETACHING)

    @property
    def is_secret(self) -> bool:
        """Whether the event is about a secret; it then has the secret's id."""
        return self in _SECRET

    @property
    def is_of_revision(self) -> bool:
        """Whether the event comes once for each revision of a secret."""
        return self in (EventKind.SECRET_EXPIRED, EventKind.SECRET_REMOVE)

    @property
    def is_teardown(self) -> bool:
        """Whether the event takes something away, so that a unit whose removal was asked for may still get it."""
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
# After its removal was asked for, a unit gets only these events.
TEARDOWN = frozenset(
    {
        EventKind.RELATION_DEPARTED,
        EventKind.RELATION_BROKEN,
        EventKind.STORAGE_DETACHING,
        EventKind.STOP,
        EventKind.REMOVE,
    }
)
# Other names that the specification has for events.
ALIASES = {
    "storage-detached": EventKind.STORAGE_DETACHING,
    "secret-expire": EventKind.SECRET_EXPIRED,
    "secret-removed": EventKind.SECRET_REMOVE,
}


class EventState(StrEnum):
    """The state of a unit's event. RUNNING and ERROR are in flight; a unit has at most one event in flight."""

    RUNNING = "RUNNING"
    ERROR = "ERROR"
    COMMITTED = "COMMITTED"
    SKIPPED = "SKIPPED"
    # Its cause is gone. The unit's ledger is as if it had never been granted, but its ordinal is used.
    WITHDRAWN = "WITHDRAWN"
    # Its unit was removed by force.
    ABANDONED = "ABANDONED"

    @property
    def is_final(self) -> bool:
        """Whether the state never changes again."""
        return self not in (EventState.RUNNING, EventState.ERROR)


class Life(StrEnum):
    """Whether an application, a unit, a relation or a storage lives, is going, or is gone. It never goes back."""

    ALIVE = "ALIVE"
    # Its removal was asked for; each unit that was told of it is told that it goes.
    DYING = "DYING"
    DEAD = "DEAD"


class Phase(StrEnum):
    """How far a unit is in its life: it waits until its first event is granted, and is gone after its last event."""

    WAITING = "WAITING"
    SETUP = "SETUP"
    OPERATION = "OPERATION"
    TEARDOWN = "TEARDOWN"


class Profile(StrEnum):
    """Which order of events an application gets: LITERAL is the specification's order, JUJU is Juju's variant.

    With JUJU, units of one application meet in peer relations only, no unit is told of its own write, and a peer
    relation that a new charm adds is created while the unit is in operation.
    """

    LITERAL = "LITERAL"
    JUJU = "JUJU"


class Membership(StrEnum):
    """How far a unit is in a relation: relation-created is granted, is committed, or the unit has left."""

    ENTERING = "ENTERING"
    IN = "IN"
    LEFT = "LEFT"


class CharmKind(StrEnum):
    """How a charm is written."""

    # A program that uses Tinkwell's library.
    NATIVE = "NATIVE"
    # Executables in a folder `hooks`.
    SCRIPTS = "SCRIPTS"
    # Written for Juju, with the framework ops or with hooks.
    OPS = "OPS"


class Rotation(StrEnum):
    """How often the owner of a secret gets `secret-rotate`."""

    NEVER = "NEVER"
    HOURLY = "HOURLY"
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"
    QUARTERLY = "QUARTERLY"
    YEARLY = "YEARLY"

    def next_after(self, moment: datetime) -> datetime | None:
        """Return when the next rotation is due after one at `moment`, None for NEVER.

        A month is a calendar month and ends at the latest with its last day: a month after 31 January is the last day
        of February.
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
    """The state of a task. A unit has at most one RUNNING task, and none while an event of it is RUNNING."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Whether the state never changes again."""
        return self not in (TaskState.PENDING, TaskState.RUNNING)


class StepKind(StrEnum):
    """A step of the setup that is planned when `install` is committed."""

    RELATION_CREATED = "relation-created"
    # leader-elected, leader-settings-changed or no event; decided when the step is reached.
    LEADER = "leader"
    CONFIG_CHANGED = "config-changed"
    START = "start"


class Owner(StrEnum):
    """Whose bag of a relation it is: each unit and each application in a relation has one."""

    UNIT = "UNIT"
    APPLICATION = "APPLICATION"


class Verdict(StrEnum):
    """What happens to an event that failed or was lost."""

    # The unit gets it again, as the next attempt.
    RETRY = "RETRY"
    # It is skipped, and so is the rest of the forced queue.
    SKIP = "SKIP"
    # Its cause is gone: the unit's ledger is as if it had never been granted.
    WITHDRAW = "WITHDRAW"


class Reason(StrEnum):
    """Why a teardown event comes."""

    UNIT_REMOVED = "UNIT_REMOVED"
    APPLICATION_REMOVED = "APPLICATION_REMOVED"
    RELATION_REMOVED = "RELATION_REMOVED"
    # The remote unit was removed by force.
    FORCED = "FORCED"


class Leaving(StrEnum):
    """Who leaves in a teardown event: the unit that gets the event, the remote side, or the relation itself."""

    SELF = "SELF"
    REMOTE = "REMOTE"
    RELATION = "RELATION"


# The values of a unit's status, most urgent first. If an application's leader has set no status, the application shows
# the most urgent status of its units.
STATUS_URGENCY = ("error", "blocked", "maintenance", "waiting", "active", "unknown")
