"""The current facts about a unit outside its ledger: the resolver reads them, other parts of the server write them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import Life, Membership, Phase, Profile
from tinkwell.core.unit.ledger import NO_REQUESTS, Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """Another unit in a relation: one of the other side, a peer, or a sibling (profile LITERAL).

    `version` is that of its bag. `entered` is drawn from a sequence when its relation-created is committed, 0 before.
    `is_leaving`: its removal was asked for. `owes`: it has still to commit relation-departed of a member, or
    relation-broken, before others may be told that it leaves; this includes the time in which its relation-joined of a
    member is in flight. `is_forced`: it was removed by force.
    """

    application: str
    version: int = 0
    entered: int = 0
    membership: Membership = Membership.IN
    is_leaving: bool = False
    owes: bool = False
    is_forced: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether others may be told that it leaves: a leaving unit gets its own departures first."""
        return self.membership is Membership.LEFT or (self.is_leaving and not self.owes)

    @property
    def is_visible(self) -> bool:
        """Whether it is in the relation, so that others may be told of it and of its bag."""
        return self.membership is Membership.IN and not self.is_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationView:
    """A relation that the unit is in or is to enter, seen from the unit's end.

    `application` is the other side's; in a peer relation it is the unit's own. `application_version` is the version of
    that application's bag, `application_life` its life. `own_version` is the version of the unit's own bag.
    `membership` is the unit's own, None before it begins to enter, with `entered` as in `MemberView`. `members` are all
    other units by name, including those that have LEFT while a ledger refers to them.
    """

    number: int
    endpoint: str
    application: str
    is_peer: bool = False
    life: Life = Life.ALIVE
    application_life: Life = Life.ALIVE
    application_version: int = 0
    own_version: int = 0
    membership: Membership | None = None
    entered: int = 0
    members: Mapping[str, MemberView] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionView:
    """A revision of a secret. `is_used`: it is the newest revision, or a unit reads it."""

    is_expired: bool = False
    is_used: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """A secret that a unit owns, or has read. `latest` is its newest revision, `revisions` are all that exist.

    `is_owner`: the unit may change it, because the unit, or the application that the unit leads, owns it. `is_granted`:
    the unit may read it; all units of an application may read the application's secrets. A grant ends with its
    relation, and for a unit when relation-broken was told to it.
    """

    id: str
    latest: int = 1
    revisions: Mapping[int, RevisionView] = field(default_factory=dict)
    is_owner: bool = False
    is_granted: bool = False
    is_rotation_due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a unit's next event depends on beside its ledger.

    `unit` and `application` are names, with their lives. `charm` is the digest of the application's current charm,
    `code` of the one that the unit runs, "" before its first event. `is_held`: a workflow holds its machine, so the
    unit gets no new events. `leader` is a unit's name, "" if no unit leads; `term` is the newest term that was given,
    `announced_term` the newest whose leader-elected is committed. `storages` are those of the unit, by name, alive or
    dying, attached or not. Relations and storages that only a newer charm than the one seen by the unit declares are
    left out. `secrets` are by id: those that the unit owns, those of its application if it leads, and those that it has
    read. `task` is the id of the unit's oldest PENDING task, "" if there is none.
    """

    unit: str
    application: str
    profile: Profile = Profile.LITERAL
    life: Life = Life.ALIVE
    phase: Phase = Phase.WAITING
    application_life: Life = Life.ALIVE
    config_version: int = 0
    charm: str = ""
    code: str = ""
    is_held: bool = False
    leader: str = ""
    term: int = 0
    announced_term: int = 0
    requests: Requests = NO_REQUESTS
    storages: Mapping[str, Life] = field(default_factory=dict)
    is_tick_due: bool = False
    relations: Mapping[int, RelationView] = field(default_factory=dict)
    secrets: Mapping[str, SecretView] = field(default_factory=dict)
    task: str = ""

    @property
    def leads(self) -> bool:
        return self.leader == self.unit

    @property
    def is_dying(self) -> bool:
        return self.life is not Life.ALIVE
