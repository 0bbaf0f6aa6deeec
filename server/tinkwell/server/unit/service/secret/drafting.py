"""Applies the effects of one event or task to the secrets of its unit, in memory and in order, and notes errors.

All secrets that the effects name are locked first. `writing` stores the result if none of an event's effects is wrong.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Protocol

from tinkwell.core import errors
from tinkwell.core.unit import limit, secret
from tinkwell.core.unit import name as names
from tinkwell.core.unit.effect import (
    Effects,
    SecretAdd,
    SecretEffect,
    SecretGrant,
    SecretRemove,
    SecretRevoke,
    SecretSet,
    SecretTrack,
)
from tinkwell.core.unit.kinds import EventKind, Membership, Owner, Rotation
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Transaction
from tinkwell.server.unit.store.secret import effect as store
from tinkwell.server.unit.store.secret.effect import Stored

MAX_EFFECTS = 1_000
MAX_DESCRIPTION_CHARACTERS = 1_000


class Ground(Protocol):
    """What effects are checked against; see `delivery.effects`."""

    @property
    def unit_id(self) -> str:
        """The unit's id."""

    @property
    def namespace(self) -> str:
        """The unit's namespace."""

    @property
    def event(self) -> UnitEvent | None:
        """The event, or None for a task."""

    @property
    def ledger(self) -> Ledger:
        """What the unit was told."""

    @property
    def view(self) -> View:
        """All other state that decides on the unit's events."""

    @property
    def leads(self) -> bool:
        """Whether it leads its application in the term of its grant."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Draft:
    """A secret after the effects. `stored` is None for a new one.

    Other fields that are None stay as they are stored.
    """

    name: str
    stored: Stored | None
    is_application: bool
    content: Mapping[str, str] | None = dataclasses.field(default=None, repr=False)
    label: str | None = None
    description: str | None = None
    rotation: Rotation | None = None
    expires_at: datetime.datetime | None = None
    removed: set[int] = dataclasses.field(default_factory=set)
    is_removed: bool = False
    grants: list[SecretGrant | SecretRevoke] = dataclasses.field(default_factory=list)
    tracked: int = 0
    own_label: str | None = None
    is_changed: bool = False
    """Whether its owner has changed it, so that its row is written."""

    @property
    def is_owned(self) -> bool:
        """Whether the unit may change it."""
        return self.stored is None or self.stored.is_owned

    @property
    def latest(self) -> int:
        """The newest revision after the effects."""
        former = self.stored.latest if self.stored is not None else 0
        return former + 1 if self.content is not None else former

    @property
    def revisions(self) -> Sequence[int]:
        """The revisions after the effects."""
        stored = self.stored.revisions if self.stored is not None else ()
        left = [each for each in stored if each not in self.removed]
        return [*left, self.latest] if self.content is not None else left


@dataclasses.dataclass(frozen=True, slots=True)
class Drafts:
    """All existing secrets that the effects name, by name."""

    all: Mapping[str, Draft]

    @property
    def has_content(self) -> bool:
        """Whether there is content to seal."""
        return any(each.content is not None and not each.is_removed for each in self.all.values())

    @property
    def tracked(self) -> Mapping[str, int]:
        """The revisions that the unit reads from now on."""
        return {each.name: each.tracked for each in self.all.values() if each.tracked and not each.is_removed}


def writes_secrets(given: Effects) -> bool:
    """Whether effects may change a secret of an application, which only the leader may do.

    An added secret names its owner. For all other secrets only the presence of a term tells: a unit that led when it
    wrote the effect gives its term.
    """
    if any(isinstance(each, SecretAdd) and each.is_application for each in given.secrets):
        return True
    return given.term > 0 and any(not isinstance(each, SecretTrack) or each.label is not None for each in given.secrets)


async def draft(transaction: Transaction, checks: check.Checks, ground: Ground, given: Effects) -> Drafts:
    """Lock the secrets that effects name, apply the effects to them in memory, and note everything that is wrong."""
    if len(given.secrets) > MAX_EFFECTS:
        checks.refuse("effects.secrets", f"there are {len(given.secrets):,}; at most {MAX_EFFECTS:,} may come at once")
        return Drafts({})
    wanted = {each.id for each in given.secrets}
    if ground.event is not None and ground.event.kind is EventKind.SECRET_ROTATE:
        # It is written when the event is committed, so it is locked in the same order as all others.
        wanted.add(ground.event.secret)
    stored = await store.lock(transaction, ground.unit_id, ground.namespace, sorted(wanted))
    drafts = {name: Draft(name=name, stored=each, is_application=each.is_application) for name, each in stored.items()}
    taken = {(each.owner, each.label): each.name for each in await store.labels(transaction, ground.unit_id)}
    drafting = _Drafting(checks, ground, drafts, taken)
    for index, each in enumerate(given.secrets):
        drafting.do(parse.child("effects.secrets", index), each)
    await _check_room(transaction, checks, ground, drafts)
    return Drafts(drafts)


async def _check_room(
    transaction: Transaction, checks: check.Checks, ground: Ground, drafts: Mapping[str, Draft]
) -> None:
    """Note secrets with too many revisions, and owners with too many secrets. The owners are locked."""
    for each in drafts.values():
        if each.content is not None and not each.is_removed and len(each.revisions) > limit.REVISIONS_PER_SECRET:
            checks.refuse(
                "effects.secrets",
                f"secret {each.name} would have more than {limit.REVISIONS_PER_SECRET:,} revisions, which is the most; "
                "remove those that nobody reads, as secret-remove tells",
            )
    for owner, name in ((Owner.UNIT, ground.view.unit), (Owner.APPLICATION, ground.view.application)):
        own = [
            each for each in drafts.values() if each.is_owned and each.is_application is (owner is Owner.APPLICATION)
        ]
        added = sum(each.stored is None and not each.is_removed for each in own)
        if added:
            gone = sum(each.stored is not None and each.is_removed for each in own)
            count = await store.count(transaction, ground.unit_id, owner) + added - gone
            if count > limit.SECRETS_PER_OWNER:
                sentence = f"{name} would own {count:,} secrets; at most {limit.SECRETS_PER_OWNER:,} may be"
                checks.refuse("effects.secrets", f"{sentence}: remove some, or keep more keys in one")


@dataclasses.dataclass(frozen=True, slots=True)
class _Drafting:
    """Applies effects one by one. `taken` has the secrets with labels, by the owner of the label and its text."""

    checks: check.Checks
    ground: Ground
    drafts: dict[str, Draft]
    taken: dict[tuple[str, str], str]

    def do(self, field: str, effect: SecretEffect) -> None:
        """Apply one effect, or note why the unit may not have it."""
        match effect:
            case SecretAdd():
                self._add(field, effect)
            case SecretTrack():
                self._track(field, effect)
            case _:
                found = self.drafts.get(effect.id)
                if found is None or found.is_removed or not found.is_owned:
                    self.checks.refuse(f"{field}.id", f"the unit owns no secret {parse.show(effect.id)}")
                    return
                if found.is_application and not self.ground.leads:
                    self._refuse_follower(field)
                    return
                found.is_changed = True
                self._change(field, found, effect)

    def _refuse_follower(self, field: str) -> None:
        self.checks.refuse(f"{field}.id", "only the unit that leads its application may change its secrets")

    def _add(self, field: str, effect: SecretAdd) -> None:
        checks = self.checks
        checks.take(secret.parse_id, f"{field}.id", effect.id)
        if effect.id in self.drafts:
            checks.refuse(f"{field}.id", f"there is a secret {parse.show(effect.id)} already; draw another id")
            return
        if effect.is_application and not self.ground.leads:
            checks.refuse(
                f"{field}.add.is_application", "only the unit that leads its application may make it a secret"
            )
        new = Draft(name=effect.id, stored=None, is_application=effect.is_application, is_changed=True)
        new.content = checks.take(secret.parse_content, f"{field}.add.content", effect.content)
        new.rotation, new.expires_at = effect.rotation, effect.expires_at
        self.drafts[effect.id] = new
        self._describe(f"{field}.add", new, effect.label, effect.description)

    def _change(self, field: str, found: Draft, effect: SecretEffect) -> None:
        match effect:
            case SecretSet():
                if effect.content is not None:
                    found.content = self.checks.take(secret.parse_content, f"{field}.set.content", effect.content)
                self._describe(f"{field}.set", found, effect.label, effect.description)
                found.rotation = effect.rotation if effect.rotation is not None else found.rotation
                found.expires_at = effect.expires_at if effect.expires_at is not None else found.expires_at
            case SecretGrant():
                self._grant(field, found, effect)
            case SecretRevoke():
                found.grants.append(effect)
            case SecretRemove():
                self._remove(field, found, effect.revision)
            case _:
                raise AssertionError(f"{effect} is done elsewhere")

    def _describe(self, field: str, found: Draft, label: str | None, description: str | None) -> None:
        if label is not None:
            self.checks.take(secret.parse_label, f"{field}.label", label)
            view = self.ground.view
            self._take_label(f"{field}.label", found, view.application if found.is_application else view.unit, label)
            found.label = label
        if description is not None:
            self.checks.take(parse_description, f"{field}.description", description)
            found.description = description

    def _take_label(self, field: str, found: Draft, owner: str, label: str) -> None:
        for key in [key for key, name in self.taken.items() if name == found.name and key[0] == owner]:
            del self.taken[key]
        if not label:
            return
        if (other := self.taken.get((owner, label), found.name)) != found.name:
            self.checks.refuse(field, f"{parse.show(label)} is the label of secret {other}; choose another one")
        self.taken[owner, label] = found.name

    def _grant(self, field: str, found: Draft, effect: SecretGrant) -> None:
        relation = self.ground.view.relations.get(effect.relation)
        told = self.ground.ledger.relations.get(effect.relation)
        if relation is None or relation.membership in (None, Membership.LEFT) or (told is not None and told.broken):
            self.checks.refuse(f"{field}.grant.relation", f"the unit is not in a relation {effect.relation}")
            return
        application = effect.application or (names.application_of(effect.unit) if effect.unit else relation.application)
        if application != relation.application or (effect.unit and not self._is_unit_of(effect.unit, relation)):
            what = effect.unit or application
            self.checks.refuse(f"{field}.grant", f"{parse.show(what)} is not on the other side of that relation")
            return
        found.grants.append(dataclasses.replace(effect, application=application))

    def _is_unit_of(self, unit: str, relation: RelationView) -> bool:
        return unit in relation.members and names.application_of(unit) == relation.application

    def _remove(self, field: str, found: Draft, revision: int) -> None:
        if not revision or found.revisions == [revision]:
            found.is_removed = True
            for key in [key for key, name in self.taken.items() if name == found.name]:
                del self.taken[key]
        elif revision not in found.revisions:
            self.checks.refuse(f"{field}.remove.revision", f"secret {found.name} has no revision {revision}")
        elif revision == found.latest:
            sentence = "is the newest one; remove the whole secret, or give it another revision first"
            self.checks.refuse(f"{field}.remove.revision", f"{revision} {sentence}")
        else:
            found.removed.add(revision)

    def _track(self, field: str, effect: SecretTrack) -> None:
        found = self.drafts.get(effect.id)
        if found is None or found.is_removed or not (found.stored is None or found.stored.is_readable):
            self.checks.refuse(f"{field}.id", f"the unit may not read a secret {parse.show(effect.id)}")
            return
        if effect.revision:
            if effect.revision not in found.revisions:
                self.checks.refuse(f"{field}.track.revision", f"secret {found.name} has no revision {effect.revision}")
            found.tracked = effect.revision
        if effect.label is None:
            return
        if found.is_owned:
            if found.is_application and not self.ground.leads:
                self._refuse_follower(field)
                return
            found.is_changed = True
            self._describe(f"{field}.track", found, effect.label, None)
            return
        self.checks.take(secret.parse_label, f"{field}.track.label", effect.label)
        self._take_label(f"{field}.track.label", found, "", effect.label)
        found.own_label = effect.label


def parse_description(field: str, text: str) -> str:
    """Check the description of a secret, which may be empty. Raises `errors.InvalidField`."""
    if len(text) > MAX_DESCRIPTION_CHARACTERS or "\0" in text:
        raise errors.InvalidField.of(
            field, f"must be text of at most {MAX_DESCRIPTION_CHARACTERS:,} characters, without U+0000"
        )
    return text
