"""What the units and the users of a storm do with secrets, by chance."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tinkwell.core.unit import effect, secret
from tinkwell.core.unit.kinds import EventKind, Rotation
from tinkwell.core.unit.world import Secret, World

_MOST = 6
_WORDS = ("one", "two", "three")


class Secrecy:
    """A clock, and what is done to secrets. The bags of a storm tell nobody of them: units find them by themselves."""

    def __init__(self, chance: random.Random) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self._chance = chance

    def pass_time(self) -> None:
        """Let some hours pass."""
        self.now += timedelta(hours=self._chance.choice([1, 5, 30]))

    def ask(self, world: World, application: str) -> None:
        """Do what a user does with secrets."""
        own = [name for name, each in world.secrets.items() if not each.owner]
        match self._chance.randrange(6):
            case 0 if len(own) < 2:
                world.create_secret(self._name(), self._content())
            case 1 if own:
                world.update_secret(effect.SecretSet(id=self._chance.choice(own), content=self._content()))
            case 2 | 3 | 4 if own:
                is_granted = self._chance.random() < 0.7
                world.grant_secret(self._chance.choice(own), application, is_granted=is_granted)
            case _ if own and self._chance.random() < 0.2:
                world.remove_secret(self._chance.choice(own))
            case _:
                pass

    def edits(self, world: World, unit: str, kind: EventKind | None) -> Iterator[effect.SecretEffect]:
        """Yield what a unit does with secrets, in most of its events nothing; it always answers a rotation."""
        running = world.running(unit)
        if running is not None and kind is EventKind.SECRET_ROTATE:
            yield effect.SecretSet(id=running.event.secret, content=self._content())
        elif running is not None and kind in (EventKind.SECRET_EXPIRED, EventKind.SECRET_REMOVE):
            secret_, revision = world.secrets[running.event.secret], running.event.revision
            if self._chance.random() < 0.5 and revision != secret_.latest:
                yield effect.SecretRemove(id=running.event.secret, revision=running.event.revision)
        elif self._chance.random() < 0.3:
            yield from self._read(world, unit)
        elif self._chance.random() < 0.15:
            yield from self._change(world, unit)

    def _read(self, world: World, unit: str) -> Iterator[effect.SecretEffect]:
        """Read the newest revision, or stay with one."""
        for name in self._some([*world.secrets]):
            if world.may_read(unit, name):
                yield effect.SecretTrack(id=name, revision=world.secrets[name].latest)

    def _change(self, world: World, unit: str) -> Iterator[effect.SecretEffect]:
        view = world.view(unit)
        owned = [world.secrets[name] for name, each in view.secrets.items() if each.is_owner]
        if len(world.secrets) < _MOST and self._chance.random() < 0.6:
            yield self._add(world, unit)
        elif owned:
            yield from self._edit(world, unit, self._chance.choice(owned))

    def _add(self, world: World, unit: str) -> effect.SecretAdd:
        return effect.SecretAdd(
            id=self._name(),
            content=self._content(),
            is_application=world.view(unit).leads and self._chance.random() < 0.5,
            rotation=self._chance.choice([Rotation.NEVER, Rotation.HOURLY, Rotation.DAILY]),
            expires_at=self._expiry(),
        )

    def _edit(self, world: World, unit: str, found: Secret) -> Iterator[effect.SecretEffect]:
        told, view = world.ledger(unit).relations, world.view(unit)
        numbers = [number for number, each in told.items() if not each.broken and number in view.relations]
        match self._chance.randrange(8):
            case 0 | 1:
                yield effect.SecretSet(id=found.name, content=self._content(), expires_at=self._expiry())
            case 2 | 3 | 4 if numbers:
                number = self._chance.choice(numbers)
                others = [unit for unit, each in view.relations[number].members.items() if each.is_visible]
                others = [each for each in others if not each.startswith(f"{view.application}/")]
                only = self._some(sorted(others))[:1] if self._chance.random() < 0.3 else []
                yield effect.SecretGrant(id=found.name, relation=number, unit="".join(only))
            case 5 if numbers:
                yield effect.SecretRevoke(id=found.name, relation=self._chance.choice([0, *numbers]))
            case 6:
                revision = self._chance.choice([0, *(each for each in found.revisions if each != found.latest)])
                yield effect.SecretRemove(id=found.name, revision=revision)
            case _:
                yield effect.SecretSet(id=found.name, rotation=self._chance.choice([*Rotation]))

    def _expiry(self) -> datetime | None:
        return self.now + timedelta(hours=self._chance.randrange(1, 40)) if self._chance.random() < 0.3 else None

    def _content(self) -> dict[str, str]:
        return {"password": self._chance.choice(_WORDS)}

    def _name(self) -> str:
        return secret.new_id(self._chance.randbytes(secret.ID_BYTES))

    def _some(self, names: list[str]) -> list[str]:
        return self._chance.sample(names, min(len(names), 2))
