"""The secrets of a unit, as handlers read and change them. Changes are stored if the event succeeds."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Attempt, SecretGiven, SecretRead, Surroundings
from tinkwell.charm.relation import Relation
from tinkwell.core import errors as core_errors
from tinkwell.core.unit import secret as rules
from tinkwell.core.unit.effect import (
    SecretAdd,
    SecretEffect,
    SecretGrant,
    SecretRemove,
    SecretRevoke,
    SecretSet,
    SecretTrack,
)
from tinkwell.core.unit.kinds import Rotation


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """A secret as its owner sees it; `name` is such as `secret:9m4e2mr0ui3e8a215n4g`, `latest` the newest revision.

    `expires_at` is that of the newest revision; `revisions` are the existing ones. Changes of this event are not
    included.
    """

    name: str
    owner: str
    label: str
    description: str
    latest: int
    revisions: tuple[int, ...]
    rotation: Rotation
    rotates_at: datetime | None
    expires_at: datetime | None


class Secrets:
    """The secrets that the unit owns or may read; `self.secrets` in a charm.

        name = self.secrets.add({"password": password}, label="login", rotate=charm.Rotation.MONTHLY)
        self.secrets.grant(name, event.relation)
        self.db[event.relation].unit["login"] = name           # for the other side: await self.secrets.get(name)

    A secret is named by the name that `add` returned, or by the label that its owner or this unit has given it.
    """

    def __init__(self, attempt: Attempt, surroundings: Surroundings) -> None:
        self._attempt = attempt
        self._surroundings = surroundings
        self._application = attempt.unit.partition("/")[0]
        self._known = {each.id: each for each in attempt.secrets}
        self._added: dict[str, SecretAdd] = {}
        self._removed: set[str] = set()
        # The labels after the changes of this event.
        self._labels = {each.id: each.label for each in attempt.secrets}
        # The content of new revisions that this event adds.
        self._content: dict[str, Mapping[str, str]] = {}
        self._tracked: dict[str, SecretTrack] = {}
        self._read: dict[tuple[str, int], SecretRead] = {}
        self._effects: list[SecretEffect] = []

    @property
    def effects(self) -> tuple[SecretEffect, ...]:
        """All changes of secrets, in order, and then the revisions that the unit reads from now on."""
        return *self._effects, *self._tracked.values()

    @property
    def needs_term(self) -> bool:
        """Whether the event has written or labelled a secret of the application, which only the leader may do."""
        if any(self._is_application(each.id) for each in self._effects):
            return True
        # A reader has its own label for a secret, beside the owner's.
        own = {each.id for each in self._owned()}
        return any(
            each.label is not None and each.id in own and self._is_application(each.id)
            for each in self._tracked.values()
        )

    def add(
        self,
        content: Mapping[str, str],
        *,
        label: str = "",
        description: str = "",
        rotate: Rotation = Rotation.NEVER,
        expires: datetime | timedelta | None = None,
        application: bool = False,
    ) -> str:
        """Create a secret of the unit, or with `application` of its application, and return its name.

        The content has at most 64 keys of a-z, 0-9 and -, and 1 MiB. `rotate` is the interval of secret-rotate.
        `expires` is the time, or the time from now, at which secret-expired comes for this revision. Raises `NotLeader`
        and `WrongSecret`.
        """
        if application and not self._surroundings.is_leader:
            raise errors.NotLeader(self._not_leader("make a secret of the application"))
        made = SecretAdd(
            id=rules.new_id(secrets.token_bytes(rules.ID_BYTES)),
            content=_checked(content),
            is_application=application,
            label=_label(label),
            description=description,
            rotation=rotate,
            expires_at=self._moment(expires),
        )
        if label and label in {self._labels.get(each) for each in (*self._added, *self._known) if self._is_owned(each)}:
            raise errors.WrongSecret(f"{label!r} is the label of another secret; give each one its own")
        self._added[made.id] = made
        self._labels[made.id] = label
        self._content[made.id] = made.content
        self._effects.append(made)
        return rules.uri(made.id)

    def set(
        self,
        secret: str,
        content: Mapping[str, str] | None = None,
        *,
        label: str | None = None,
        description: str | None = None,
        rotate: Rotation | None = None,
        expires: datetime | timedelta | None = None,
    ) -> None:
        """Give an own secret new content, or change its other properties; None keeps one.

        Several changes of the content in one event make one revision. Raises `SecretMissing`, `NotOwner` and
        `WrongSecret`.
        """
        found = self._own(secret)
        checked = None if content is None else _checked(content)
        self._effects.append(
            SecretSet(
                id=found,
                content=checked,
                label=None if label is None else _label(label),
                description=description,
                rotation=rotate,
                expires_at=self._moment(expires),
            )
        )
        if checked is not None:
            self._content[found] = checked
        if label is not None:
            self._labels[found] = label

    def grant(self, secret: str, relation: Relation, *, unit: str = "") -> None:
        """Let the other side of a relation, or one unit of it, read an own secret while the relation lives."""
        application = "" if unit else relation.remote_application
        granted = SecretGrant(id=self._own(secret), relation=relation.number, application=application, unit=unit)
        self._effects.append(granted)

    def revoke(self, secret: str, relation: Relation | None = None, *, unit: str = "") -> None:
        """Revoke a grant to a relation, or to one unit of it; without both, all grants."""
        number = relation.number if relation is not None else 0
        self._effects.append(SecretRevoke(id=self._own(secret), relation=number, unit=unit))

    def remove(self, secret: str, *, revision: int = 0) -> None:
        """Remove a revision of an own secret, or with 0 the whole secret."""
        found = self._own(secret)
        self._effects.append(SecretRemove(id=found, revision=revision))
        tracked = self._tracked.get(found)
        if not revision:
            self._removed.add(found)
            self._labels.pop(found, None)
            self._tracked.pop(found, None)
        elif tracked is not None and tracked.revision == revision:
            # The unit has read this revision in the event, and cannot read it from now on.
            self._tracked[found] = replace(tracked, revision=0)

    def info(self, secret: str) -> SecretInfo:
        """Return the data of an own secret that existed before this event. Raises what `set` raises."""
        found = self._own(secret)
        if (given := self._known.get(found)) is None:
            raise errors.SecretMissing(f"{rules.uri(found)} is there once this event has landed")
        return _info(given)

    def owned(self) -> tuple[SecretInfo, ...]:
        """Return the data of all own secrets, and if the unit leads, of those of its application."""
        return tuple(_info(each) for each in self._owned())

    async def get(self, secret: str, *, refresh: bool = False, label: str | None = None) -> Mapping[str, str]:
        """Read a secret: the newest revision at the first time, and then the same one until `refresh`.

        `label` becomes this unit's label for the secret, in events and here. Raises `SecretMissing`, also if the secret
        was not granted to the unit.
        """
        found, tracked = self._find(secret), self._tracks(secret)
        if label is not None:
            _label(label)
        if found in self._content and (refresh or not tracked or tracked == self._next(found)):
            revision, content = self._next(found), self._content[found]
        else:
            read = await self._fetch(found, 0 if refresh or not tracked else tracked)
            revision, content = read.revision, read.content
        if revision != tracked or label is not None:
            former = self._tracked.get(found)
            kept = former.label if label is None and former is not None else label
            self._tracked[found] = SecretTrack(id=found, revision=revision, label=kept)
        if label is not None:
            self._labels[found] = label
        return dict(content)

    async def peek(self, secret: str) -> Mapping[str, str]:
        """Read the newest revision of a secret; `get` still reads the former one. Raises what `get` raises."""
        found = self._find(secret)
        if found in self._content:
            return dict(self._content[found])
        return dict((await self._fetch(found, 0)).content)

    def label_of(self, secret: str) -> str:
        """Return the label of a secret, given by its id: the owner's or this unit's own; empty for none."""
        return self._labels.get(secret, "")

    def _tracks(self, secret: str) -> int:
        found = self._find(secret)
        if (track := self._tracked.get(found)) is not None:
            return track.revision
        given = self._known.get(found)
        if given is None or (given.is_owned and given.tracked not in given.revisions):
            return 0  # an owner may have removed the revision that it read
        return given.tracked

    def _next(self, secret: str) -> int:
        given = self._known.get(secret)
        return given.latest + 1 if given is not None else 1

    async def _fetch(self, secret: str, revision: int) -> SecretRead:
        if (secret, revision) not in self._read:
            self._read[secret, revision] = await self._surroundings.read_secret(secret, revision)
        return self._read[secret, revision]

    def _find(self, secret: str) -> str:
        """Return the id of a secret. Raises `SecretMissing`."""
        try:
            found = rules.parse_uri("", secret)
        except core_errors.InvalidField:
            named = [each for each, label in self._labels.items() if label == secret and label]
            # If several secrets have the label, the unit's own secret is meant, as on the server.
            found = max(named, key=self._is_owned, default="")
        if not found or found in self._removed:
            raise errors.SecretMissing(f"{self._attempt.unit} has no secret {secret!r}")
        return found

    def _own(self, secret: str) -> str:
        """Return the id of a secret that the unit may change. Raises `SecretMissing`, and `NotOwner`."""
        found = self._find(secret)
        if not self._is_owned(found):
            what = "it is its application's, which the leader alone changes"
            why = what if self._is_application(found) else "it does not own it"
            raise errors.NotOwner(f"{rules.uri(found)} cannot be changed by {self._attempt.unit}: {why}")
        return found

    def _owned(self) -> list[SecretGiven]:
        return [each for each in self._known.values() if each.is_owned and each.id not in self._removed]

    def _is_owned(self, secret: str) -> bool:
        given = self._known.get(secret)
        return secret in self._added or (given is not None and given.is_owned)

    def _is_application(self, secret: str) -> bool:
        if (added := self._added.get(secret)) is not None:
            return added.is_application
        given = self._known.get(secret)
        return given is not None and given.owner == self._application

    def _moment(self, expires: datetime | timedelta | None) -> datetime | None:
        return self._surroundings.now() + expires if isinstance(expires, timedelta) else expires

    def _not_leader(self, what: str) -> str:
        return f"{self._attempt.unit} does not lead {self._application}, so it cannot {what}; look at is_leader first"


def _info(given: SecretGiven) -> SecretInfo:
    return SecretInfo(
        name=rules.uri(given.id),
        owner=given.owner,
        label=given.label,
        description=given.description,
        latest=given.latest,
        revisions=given.revisions,
        rotation=given.rotation,
        rotates_at=given.rotates_at,
        expires_at=given.expires_at,
    )


def _checked(content: Mapping[str, str]) -> Mapping[str, str]:
    try:
        return rules.parse_content("content", content)
    except core_errors.InvalidField as error:
        raise errors.WrongSecret(str(error)) from error


def _label(label: str) -> str:
    try:
        return rules.parse_label("label", label)
    except core_errors.InvalidField as error:
        raise errors.WrongSecret(str(error)) from error
