"""The rows that are read of a unit, and those that are written about its events."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import EventState, Life, Phase
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """A unit, without its ledger and view.

    `machine_id` is empty if it has none, `lease_id` if no agent has served it. `last_ordinal` is that of its newest
    event, 0 before the first. `removal_reason` and `removal_actor` are empty until its removal is requested.
    """

    id: str
    application_id: str
    namespace: str
    name: str
    number: int
    phase: Phase
    machine_id: str
    is_anywhere: bool
    lease_id: str
    last_ordinal: int
    removal_reason: str
    removal_actor: str
    is_forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationRow:
    """The application of a unit.

    `leader` is the number of the leading unit, None for none. `charm` is the digest of the charm that its units have to
    run, and `charm_kind` its kind.
    """

    id: str
    name: str
    life: Life
    charm: str
    charm_kind: str
    leader: int | None
    term: int
    announced_term: int
    removal_actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a unit's namespace."""

    update_status_seconds: int
    event_timeout_seconds: int
    is_retrying: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An event in flight, RUNNING or in ERROR.

    `event` is what its last attempt sees. `remaining_seconds` is the time until its deadline, negative after it.
    `retry_in_seconds` is the time until its retry, negative if that is due, None if it is not retried automatically.
    `is_lost`: its last attempt was lost.
    """

    id: str
    ordinal: int
    attempt: int
    state: EventState
    event: UnitEvent
    lease_token: int
    is_lost: bool
    remaining_seconds: float
    retry_in_seconds: float | None
    message: str
    reason: str
    leaving: str
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event to write, granted or SKIPPED, and its circumstances.

    `timeout_seconds` is the time from the grant to its deadline. `cause` is a JSON object as text.
    """

    event: UnitEvent
    state: EventState = EventState.RUNNING
    lease_token: int = 0
    timeout_seconds: float = 0.0
    is_peer: bool = False
    phase: Phase = Phase.SETUP
    cause: str = "{}"
    reason: str = ""
    leaving: str = ""
    actor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """All that the next event of a unit depends on.

    `removal_actors` has, by the numbers of dying relations, who has requested their removal. `running_task` is the id
    of the task that runs, empty for none. `committed_ordinal` is that of the newest COMMITTED event, 0 for none.
    """

    unit: UnitRow
    application: ApplicationRow
    settings: Settings
    ledger: Ledger
    view: View
    in_flight: EventRow | None
    removal_actors: Mapping[int, str] = field(default_factory=dict)
    running_task: str = ""
    committed_ordinal: int = 0
