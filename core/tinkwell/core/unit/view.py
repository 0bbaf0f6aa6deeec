"""Everything about a unit that is not in its ledger, as it is now: what a resolver looks at, and others write."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.kinds import Life, Membership, Phase, Profile
from tinkwell.core.unit.ledger import NO_REQUESTS, Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """Another unit in a relation: one of the other side, a peer, or a sibling (profile LITERAL).

    `version` is that of its bag. `entered` is drawn from a sequence while its relation-created is committed, 0 before.
    `is_leaving`: its removal was asked for. `owes`: it has still to commit relation-departed of somebody, or
    relation-broken, before its leaving may be told; so it is while its relation-joined of somebody is in flight.
    `is_forced`: it was removed by force.
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
        """Whether its leaving may be told: who leaves has left first."""
        return self.membership is Membership.LEFT or (self.is_leaving and not self.owes)

    @property
    def is_visible(self) -> bool:
        """Whether it is in the relation, so that what it has there may be told."""
        return self.membership is Membership.IN and not self.is_gone


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationView:
    """A relation that the unit is in or is to enter, seen from its own end.

    `application` is the other side's, in a peer relation the unit's own; `application_version` is that of its bag,
    `application_life` its life. `own_version` is that of the unit's own bag. `membership` is the unit's own, None as
    long as it has not begun to enter, with `entered` as in `MemberView`. `members` are all others but the unit itself,
    by name, also those that have LEFT and which a ledger still refers to.
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
    """A revision of a secret. `is_used`: it is the newest one, or somebody reads it."""

    is_expired: bool = False
    is_used: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretView:
    """A secret that a unit owns, or has read. `latest` is its newest revision, `revisions` are all that are there.

    `is_owner`: the unit may change it, for it is its own, or that of the application which it leads. `is_granted`: the
    unit may read it, as all units of an application may read what the application owns. A grant ends with its relation,
    and for a unit that has been told relation-broken.
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

    `unit` and `application` are its names, with their lives. `charm` is the digest that the application has today,
    `code` the one that the unit runs on, empty before its first event. `is_held`: a workflow holds its machine, so that
    it gets no new events. `leader` is a unit's name, empty if nobody leads; `term` is the newest one that was given,
    `announced_term` the newest whose leader-elected is committed. `storages` are those of the unit, by name, alive or
    dying, attached or not. Relations and storages that only a newer charm declares than the one that the unit has seen
    are not in it. `secrets` are those that the unit owns, those of its application if it leads, and those that it has
    read, by id. `task` is the id of the oldest task of the unit that is PENDING, empty if there is none.
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
        """Whether the unit is its application's leader."""
        return self.leader == self.unit

    @property
    def is_dying(self) -> bool:
        """Whether the unit's removal was asked for."""
        return self.life is not Life.ALIVE
