"""The ledger: what a unit has been told. Only commits of its own events write it, by `advance`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import StepKind
from tinkwell.core.unit.unit_event import UnitEvent


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step of the setup; `relation` is the number of the relation that it creates, 0 for other steps."""

    kind: StepKind
    relation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Counters of requests: how often each was made (in a view), or told to the unit (in a ledger).

    `prepared` and `finished` count the halves of series upgrades: `finished` equals `prepared`, or is one less.
    `metrics` counts collections of metrics.
    """

    prepared: int = 0
    finished: int = 0
    metrics: int = 0


NO_REQUESTS = Requests()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLedger:
    """Another unit of a relation that this unit was told of, or an older sibling. relation-departed deletes it.

    `is_older`: a sibling that was in the relation before this unit entered it (profile LITERAL). This unit was never
    told that it joined, but is told that it leaves. `seen_version` is the version of the member's bag that this unit
    was told of, 0 for older siblings.
    """

    seen_version: int = 0
    is_older: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLedger:
    """What a unit was told of a relation whose relation-created it has committed.

    `application_version` is the version of the remote application's bag that the unit was told of; in a peer relation,
    of its own application's bag. `own_version` is the version of its own bag. The unit's own writes that it need not be
    told of count as told. `members` are by unit name.
    """

    created: bool = True
    broken: bool = False
    application_version: int = 0
    own_version: int = 0
    members: Mapping[str, MemberLedger] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLedger:
    """What a unit knows of a secret: `tracked` is the revision that it reads, 0 if it has read none.

    `told` is the newest revision that a secret-changed told it of. `expired` and `removed` are for owners: the
    revisions that secret-expired and secret-remove have told of. A new expiry time makes its revision due again.
    """

    tracked: int = 0
    told: int = 0
    expired: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()


NEVER_READ = SecretLedger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a unit has been told.

    `plan` has the remaining steps of the setup, `queue` the events that must follow the last event at once.
    `charm_seen` is the digest that `install` or `upgrade-charm` ran on. `led_term` is the last term for which the unit
    was elected, `settings_term` the last announced term that it knows. `attached` has names of storages, `relations`
    are by number, `secrets` by id. Mappings are never changed in place.
    """

    installed: bool = False
    started: bool = False
    stopped: bool = False
    removed: bool = False
    config_seen: int = 0
    charm_seen: str = ""
    led_term: int = 0
    settings_term: int = 0
    plan: tuple[SetupStep, ...] = ()
    queue: tuple[UnitEvent, ...] = ()
    requests: Requests = NO_REQUESTS
    attached: frozenset[str] = frozenset()
    relations: Mapping[int, RelationLedger] = field(default_factory=dict)
    secrets: Mapping[str, SecretLedger] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The bags that a commit changed, as numbers of relations: the unit's own, and its application's in peer relations.

    `tracked` maps a secret's id to the revision that the unit reads from this commit on.
    """

    own: frozenset[int] = frozenset()
    peer_application: frozenset[int] = frozenset()
    tracked: Mapping[str, int] = field(default_factory=dict)


NOTHING_WRITTEN = Written()
