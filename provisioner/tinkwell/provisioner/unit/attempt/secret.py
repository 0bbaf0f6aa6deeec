"""The secrets of a unit within an attempt: what they hold, and what the attempt has done to them.

Everything that is done lands with the event. Meanwhile a new secret can be read and given away, and an owner who peeks
sees what it has set. Which revision the unit reads from now on lands with the event, too.
"""

import asyncio
import dataclasses
import datetime
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tinkwell.core import errors
from tinkwell.core.unit import effect, limit
from tinkwell.core.unit import secret as rules
from tinkwell.core.unit.kinds import Rotation
from tinkwell.provisioner.unit.attempt.given import Given, Grant, Secret
from tinkwell.provisioner.unit.attempt.world import Content, Refused, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an owner changes; None stays. `content` is empty where it makes no revision."""

    content: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    label: str | None = None
    description: str | None = None
    rotation: Rotation | None = None
    expires_at: datetime.datetime | None = None


class Secrets:
    """Secrets that the unit owns, or reads."""

    def __init__(self, given: Given, world: World) -> None:
        self._given = given
        self._world = world
        self._known = dict(given.secrets)
        # What was added or set here, by id: it is not on the server yet.
        self._written: dict[str, dict[str, str]] = {}
        self._added: set[str] = set()
        self._removed: set[str] = set()
        self._read: dict[tuple[str, int], Content] = {}
        self._reading = asyncio.Lock()
        self._effects: list[effect.SecretEffect] = []

    @property
    def effects(self) -> tuple[effect.SecretEffect, ...]:
        """What is done, in its order."""
        return tuple(self._effects)

    @property
    def is_applications(self) -> bool:
        """Whether something is done to a secret of the application, which needs the leader's term."""
        owner = self._given.application
        return any(
            self._known[each.id].owner == owner
            for each in self._effects
            if not isinstance(each, effect.SecretTrack) and each.id in self._known
        )

    @property
    def owned(self) -> list[Secret]:
        """Those that the unit may change, by id."""
        return [
            secret for _, secret in sorted(self._known.items()) if secret.is_owned and secret.id not in self._removed
        ]

    async def add(self, change: Change, *, is_application: bool) -> str:
        """Make a secret, and return its id. Raises `Refused`, and then does nothing."""
        if is_application and not await self._world.is_leader():
            raise Refused(f"permission denied: {self._given.unit} is not the leader")
        content, label = _content(change.content), _label(change.label or "")
        owner = self._given.application if is_application else self._given.unit
        if sum(each.owner == owner for each in self.owned) >= limit.SECRETS_PER_OWNER:
            raise Refused(f"{owner} has {limit.SECRETS_PER_OWNER:,} secrets, which is the most: remove some first")
        self._check_label(label, owner)
        secret = rules.new_id(os.urandom(rules.ID_BYTES))
        self._known[secret] = Secret(
            id=secret,
            owner=owner,
            is_owned=True,
            label=label,
            description=change.description or "",
            latest=1,
            rotation=str(change.rotation or Rotation.NEVER),
            expires_at=change.expires_at,
            revisions=(1,),
        )
        self._written[secret] = content
        self._added.add(secret)
        self._effects.append(
            effect.SecretAdd(
                id=secret,
                content=content,
                is_application=is_application,
                label=label,
                description=change.description or "",
                rotation=change.rotation or Rotation.NEVER,
                expires_at=change.expires_at,
            )
        )
        return secret

    def set(self, name: str, change: Change) -> None:
        """Change a secret, with content to a new revision. Raises `Refused`, and then does nothing."""
        secret = self.own(name)
        content = _content(change.content) if change.content else None
        is_new = content is not None and secret.id not in self._written
        if is_new and len(secret.revisions) >= limit.REVISIONS_PER_SECRET:
            raise Refused(
                f'secret "{name}" has {limit.REVISIONS_PER_SECRET:,} revisions, which is the most: '
                "remove those that nobody reads first"
            )
        if change.label is not None and _label(change.label) != secret.label:
            self._check_label(change.label, secret.owner)
        said: dict[str, Any] = {
            "label": change.label,
            "description": change.description,
            "rotation": None if change.rotation is None else str(change.rotation),
            "expires_at": change.expires_at,
        }
        made = {name: value for name, value in said.items() if value is not None}
        if content is not None:
            if is_new:
                made |= {"latest": secret.latest + 1, "revisions": (*secret.revisions, secret.latest + 1)}
            self._written[secret.id] = content
        self._known[secret.id] = dataclasses.replace(secret, **made)
        self._effects.append(
            effect.SecretSet(
                id=secret.id,
                content=content,
                label=change.label,
                description=change.description,
                rotation=change.rotation,
                expires_at=change.expires_at,
            )
        )

    async def get(
        self, name: str, *, label: str = "", is_peek: bool = False, is_refresh: bool = False
    ) -> Mapping[str, str]:
        """Read a secret by its id or label; with both, the label is the unit's own from now on. Raises `Refused`."""
        secret = self._find(name, label)
        if secret.is_owned:
            return await self._read_own(secret, is_newest=is_peek or is_refresh)
        labelled = label if name and label and label != secret.label else None
        if labelled is not None:
            self._check_label(_label(labelled), "")
        wanted = 0 if is_peek or is_refresh or not secret.tracked else secret.tracked
        content = await self._fetch(secret.id, wanted)
        revision = secret.tracked if is_peek else content.revision
        if revision != secret.tracked or labelled is not None:
            self._known[secret.id] = dataclasses.replace(secret, tracked=revision, label=labelled or secret.label)
            self._track(secret.id, revision if revision != secret.tracked else 0, labelled)
        else:
            self._known[secret.id] = secret
        return content.values

    def own(self, name: str) -> Secret:
        """Return a secret that the unit may change. Raises `Refused`."""
        secret = self._known.get(_id(name))
        if secret is None or secret.id in self._removed:
            raise _not_found(name)
        if not secret.is_owned:
            raise Refused(f'permission denied: secret "{name}" is not owned by {self._given.unit}')
        return secret

    def owned_by(self, name: str, label: str) -> Secret:
        """Return a secret that the unit may change, by its id or by its label. Raises `Refused`."""
        for secret in self.owned:
            if secret.id == (_id(name) if name else "") or (not name and label and secret.label == label):
                return secret
        raise _not_found(name or label)

    def grant(self, name: str, to: Grant) -> None:
        """Let an application, or one unit, read a secret while their relation lives. Raises `Refused`."""
        secret = self.own(name)
        if to not in secret.grants:
            self._known[secret.id] = dataclasses.replace(secret, grants=(*secret.grants, to))
        self._effects.append(
            effect.SecretGrant(id=secret.id, relation=to.relation, application=to.application, unit=to.unit)
        )

    def revoke(self, name: str, to: Grant) -> None:
        """Take back what fits: with relation 0 in all relations. Raises `Refused`."""
        secret = self.own(name)
        left = tuple(each for each in secret.grants if not _fits(each, to))
        self._known[secret.id] = dataclasses.replace(secret, grants=left)
        self._effects.append(
            effect.SecretRevoke(id=secret.id, relation=to.relation, application=to.application, unit=to.unit)
        )

    def remove(self, name: str, revision: int) -> None:
        """Remove a revision of a secret, or with 0 all of it; once more is no error. Raises `Refused`."""
        if _id(name) in self._removed:
            return
        secret = self.own(name)
        if not revision:
            self._removed.add(secret.id)
        else:
            left = tuple(each for each in secret.revisions if each != revision)
            self._known[secret.id] = dataclasses.replace(secret, revisions=left)
        self._effects.append(effect.SecretRemove(id=secret.id, revision=revision))

    def _track(self, secret: str, revision: int, label: str | None) -> None:
        """Note what is read from now on: of several revisions the last one counts."""
        former = next(self._tracked(secret), None)
        if former is not None:
            self._effects.remove(former)
            revision, label = revision or former.revision, former.label if label is None else label
        self._effects.append(effect.SecretTrack(id=secret, revision=revision, label=label))

    def _tracked(self, secret: str) -> Iterator[effect.SecretTrack]:
        return (each for each in self._effects if isinstance(each, effect.SecretTrack) and each.id == secret)

    async def _read_own(self, secret: Secret, *, is_newest: bool) -> Mapping[str, str]:
        """Read a secret of the unit's own: what was set here, or what is there."""
        if secret.id in self._added or (is_newest and secret.id in self._written):
            return self._written[secret.id]
        return (await self._fetch(secret.id, 0)).values

    async def _fetch(self, secret: str, revision: int) -> Content:
        """Read a revision, 0 for the newest one, which is the same one all through the attempt."""
        async with self._reading:
            key = secret, revision
            if key not in self._read:
                found = await self._world.read_secret(secret, revision)
                self._read[key] = self._read[secret, found.revision] = found
            return self._read[key]

    def _find(self, name: str, label: str) -> Secret:
        """Find what is to be read: by an id also what the unit has not read yet."""
        if not name:
            found = [each for each in self._known.values() if each.label == label and each.id not in self._removed]
            if not found:
                raise _not_found(label)
            # An own secret's label wins over that of one which is only read.
            return min(found, key=lambda each: (not each.is_owned, each.id))
        secret = _id(name)
        if secret in self._removed:
            raise _not_found(name)
        return self._known.get(secret) or Secret(id=secret)

    def _check_label(self, label: str, owner: str) -> None:
        """Refuse a label that another secret has. `owner` is empty for labels of secrets that are only read."""
        for each in self._known.values():
            is_rival = each.owner == owner if owner else not each.is_owned
            if label and each.label == label and is_rival and each.id not in self._removed:
                raise Refused(f'secret with label "{label}" already exists')


def _fits(grant: Grant, wanted: Grant) -> bool:
    return (
        wanted.relation in (0, grant.relation)
        and wanted.application in ("", grant.application)
        and wanted.unit in ("", grant.unit)
    )


def _not_found(name: str) -> Refused:
    return Refused(f'secret "{name}" not found')


def _id(name: str) -> str:
    try:
        return rules.parse_uri("id", name)
    except errors.InvalidField:
        raise Refused(f'"{name}" is not a valid secret URI: secret not found') from None


def _label(label: str) -> str:
    try:
        return rules.parse_label("--label", label)
    except errors.InvalidField as error:
        raise Refused(str(error)) from error


def _content(content: Mapping[str, str]) -> dict[str, str]:
    try:
        return rules.parse_content("content", content)
    except errors.InvalidField as error:
        raise Refused(str(error)) from error
