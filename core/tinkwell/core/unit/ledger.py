"""What a unit has been told: the ledger, which only commits of its own events write, by `advance`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import StepKind
from tinkwell.core.unit.unit_event import UnitEvent


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step of the setup; `relation` is the number of the one that it creates, 0 for other steps."""

    kind: StepKind
    relation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """How often something was asked for, in a view, or told, in a ledger.

    `prepared` and `finished` count the halves of series upgrades: `finished` is `prepared`, or one less. `metrics`
    counts collections of metrics.
    """

    prepared: int = 0
    finished: int = 0
    metrics: int = 0


NO_REQUESTS = Requests()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLedger:
    """A unit that this one was told of in a relation, or an older sibling. It goes with relation-departed.

    `is_older`: a sibling that was in the relation before this unit entered it (profile LITERAL). It was never announced
    here, but its leaving is mirrored. `seen_version` is that of its bag, 0 for older ones.
    """

    seen_version: int = 0
    is_older: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLedger:
    """What a unit was told of a relation whose relation-created it has committed.

    `application_version` is the version of the remote application's bag that it was told of (in a peer relation, of its
    own application's), `own_version` that of its own bag; its own writes that it need not be told of are counted as
    told. `members` are by the unit's name.
    """

    created: bool = True
    broken: bool = False
    application_version: int = 0
    own_version: int = 0
    members: Mapping[str, MemberLedger] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLedger:
    """What a unit knows of a secret: `tracked` is the revision that it reads, 0 if it has read none.

    `told` is the newest revision that a secret-changed told it of. `expired` and `removed` are, for an owner, the
    revisions of which secret-expired and secret-remove have told it. An expiry that is set anew makes its revision due
    again.
    """

    tracked: int = 0
    told: int = 0
    expired: frozenset[int] = frozenset()
    removed: frozenset[int] = frozenset()


NEVER_READ = SecretLedger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a unit has been told. `plan` is what is left of the setup, `queue` what must follow the last event at once.

    `charm_seen` is the digest that `install` or `upgrade-charm` ran on, `led_term` the last term that it was elected
    for, `settings_term` the last announced term that it knows. `attached` has the names of storages, `relations` are by
    number, `secrets` by id. Mappings are never changed.
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
    """Which bags a commit changed, as numbers of relations: the unit's own, and its application's in peer relations.

    `tracked` has the revisions that the unit reads from this commit on, by the ids of their secrets.
    """

    own: frozenset[int] = frozenset()
    peer_application: frozenset[int] = frozenset()
    tracked: Mapping[str, int] = field(default_factory=dict)


NOTHING_WRITTEN = Written()
