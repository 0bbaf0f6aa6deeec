"""A model of a namespace: real charms run in it, and everything around them is in memory.

async def test_web_gets_its_database() -> None:
    model = Model()
    model.deploy(Web, units=2)
    model.deploy(Postgres, name="pg")
    model.relate("web:db", "pg:db")
    await model.settle(seed=7)
    assert model.status("web/0") == charm.Active()
    assert model.events("web/0")[:3] == ["install", "db-relation-created", "leader-elected"]
    model.check()
"""

import json
import random
import secrets
import shutil
import tempfile
import traceback
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tinkwell.charm import description
from tinkwell.charm.attempt import dispatch as dispatching
from tinkwell.charm.attempt.dispatch import dispatch
from tinkwell.charm.charm import Charm
from tinkwell.charm.status import Active, Blocked, Maintenance, Status, Waiting
from tinkwell.charm.testing import surroundings
from tinkwell.core import errors
from tinkwell.core.charm import action as actions
from tinkwell.core.charm import config as options_of
from tinkwell.core.charm.record import Action, Option
from tinkwell.core.unit import name as names
from tinkwell.core.unit import notice
from tinkwell.core.unit import secret as secret_rules
from tinkwell.core.unit import world as worlds
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, SecretSet, TaskOutcome
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Profile, TaskState
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.world import Role, World
from tinkwell.core.value import document
from tinkwell.core.value.document import JsonValue

# A model that has more events in one call of `settle` never settles.
_MOST_EVENTS = 100_000
_STATUSES = {each.name: each for each in (Active, Waiting, Blocked, Maintenance)}


@dataclass(frozen=True, slots=True)
class _Handled:
    """An attempt whose handlers have ended, and that is not committed yet."""

    effects: Effects
    is_killed: bool
    # The outcome of a task, None for an event.
    task: TaskOutcome | None = None


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The outcome of a task: `result` is the return value of the action, `log` its log lines."""

    state: TaskState
    result: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    log: tuple[str, ...] = ()


class _Clock:
    """The time of a model. It is a separate object, so that Python frees a model with the last reference to it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def read(self) -> datetime:
        """Return the time."""
        return self.now


class Model:
    """A namespace with applications, units and relations.

    Time does not pass by itself: see `tick`, `advance` and `settle`.
    """

    def __init__(self, *, profile: Profile = Profile.LITERAL) -> None:
        self._profile = profile
        self._clock = _Clock()
        self._world = World(clock=self._clock.read)
        # By digest.
        self._classes: dict[str, type[Charm]] = {}
        self._options: dict[str, Mapping[str, Option]] = {}
        self._actions: dict[str, Mapping[str, Action]] = {}
        self._told: dict[str, tuple[str, ...]] = {}
        self._handled: dict[str, _Handled] = {}
        self._failures: Counter[str] = Counter()
        self._kills: Counter[str] = Counter()
        self._folder = Path(tempfile.mkdtemp(prefix="tinkwell-model-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    # The actions of operators.

    def deploy(
        self, charm_class: type[Charm], *, units: int = 1, name: str = "", config: Mapping[str, object] | None = None
    ) -> tuple[str, ...]:
        """Deploy an application, by default under the name of its charm, and return the names of its units."""
        charm = self._charm(charm_class)
        checked = options_of.edit(self._options[charm.digest], {}, _json(config or {}), field="config")
        profile = charm_class.declared.profile or self._profile
        return tuple(self._world.deploy(name or charm.name, charm, units, profile=profile, config=checked))

    def scale(self, application: str, units: int) -> tuple[str, ...]:
        """Add units, or remove those with the highest numbers, and return the names of the remaining units."""
        living = self.units(application)
        if units > len(living):
            self._world.add_units(application, units - len(living))
        for each in living[units:]:
            self._world.remove_unit(each)
        return self.units(application)[:units]

    def remove_unit(self, unit: str, *, force: bool = False) -> None:
        """Remove a unit; with `force` at once, without its teardown."""
        self._world.remove_unit(unit, is_forced=force)
        if force:
            self._handled.pop(unit, None)

    def remove(self, application: str) -> None:
        """Remove an application, with its units and relations."""
        self._world.remove_application(application)

    def relate(self, one: str, other: str) -> int:
        """Relate two endpoints, such as `web:db` and `pg:db`, and return the number of their relation."""
        return self._world.relate(one, other)

    def unrelate(self, relation: int) -> None:
        """Remove a relation; units on both sides get the events."""
        self._world.unrelate(relation)

    def set_config(self, application: str, config: Mapping[str, object]) -> None:
        """Set options; None resets an option to its default."""
        found = self._world.applications[application]
        edited = options_of.edit(self._options[found.charm.digest], found.config, _json(config), field="config")
        self._world.set_config(application, {each: edited.get(each) for each in config})

    def upgrade(self, application: str, charm_class: type[Charm]) -> None:
        """Give an application another revision of its charm."""
        self._world.refresh(application, self._charm(charm_class))

    def request(self, unit: str, kind: EventKind) -> None:
        """Send a unit `pre-series-upgrade`, `post-series-upgrade` or `collect-metrics`."""
        self._world.request(unit, kind)

    def tick(self, unit: str) -> None:
        """Make `update-status` due."""
        self._world.tick(unit)

    def advance(self, time: timedelta) -> None:
        """Let time pass: secrets may need rotation, and may expire."""
        self._clock.now += time

    async def run(self, unit: str, action: str, /, **parameters: Any) -> TaskResult:
        """Run an action on a unit, settle, and return the outcome; a failed action raises no error.

        Raises `InvalidField` for an action or parameters that the charm does not have, as the server does.
        """
        digest = self._world.applications[unit.partition("/")[0]].charm.digest
        declared = actions.find(self._actions[digest], action, field="action")
        asked = document.check_json("parameters", parameters)
        assert isinstance(asked, dict)
        given = actions.complete(declared, asked, field="parameters")
        task = self._world.run_task(unit, action, given)
        await self.settle()
        ended = self._world.tasks[task]
        return TaskResult(ended.state, json.loads(ended.result or "{}"), ended.message, self._told.pop(task, ()))

    # The actions of people and tests on secrets, which are named as charms name them.

    def add_secret(self, content: Mapping[str, str], *, label: str = "") -> str:
        """Create a user's secret, and return its name."""
        made = secret_rules.new_id(secrets.token_bytes(secret_rules.ID_BYTES))
        self._world.create_secret(made, secret_rules.parse_content("content", content), label=label)
        return secret_rules.uri(made)

    def update_secret(self, secret: str, content: Mapping[str, str]) -> None:
        """Give a user's secret a new revision."""
        checked = secret_rules.parse_content("content", content)
        self._world.update_secret(SecretSet(id=secret_rules.parse_uri("secret", secret), content=checked))

    def grant_secret(self, secret: str, application: str) -> None:
        """Let the units of an application read a user's secret."""
        self._world.grant_secret(secret_rules.parse_uri("secret", secret), application)

    def secrets(self, owner: str = "") -> tuple[str, ...]:
        """Return the names of the secrets of a unit or an application, or with an empty owner those of users."""
        return tuple(secret_rules.uri(each.name) for each in self._world.secrets.values() if each.owner == owner)

    def reveal(self, secret: str, *, revision: int = 0) -> Mapping[str, str]:
        """Return the content of a secret in a revision, 0 for the newest. Raises `KeyError`."""
        found = self._world.secrets[secret_rules.parse_uri("secret", secret)]
        return dict(found.revisions[revision or found.latest].content)

    def revisions(self, secret: str) -> tuple[int, ...]:
        """Return the existing revisions of a secret; none if it is removed."""
        found = self._world.secrets.get(secret_rules.parse_uri("secret", secret))
        return tuple(sorted(found.revisions)) if found is not None else ()

    # Faults.

    def fail_next(self, unit: str, *, times: int = 1) -> None:
        """Make the next attempt of a unit fail before a handler is called. An event is tried again, a task is not."""
        self._failures[unit] += times

    def kill(self, unit: str) -> None:
        """Make the agent of a unit die in its next attempt, after the handlers.

        The handlers of an event are then called again; a task fails, and is not run again.
        """
        self._kills[unit] += 1

    # Results.

    async def settle(self, *, seed: int = 0) -> None:
        """Let all units run their events until nothing is due; `seed` determines the order in which units take turns.

        Raises the error of a handler, with a note of the event. That event has failed then, and the next call tries it
        again.
        """
        draw = random.Random(seed)  # noqa: S311 - orders are tried, nothing is kept secret
        for _ in range(_MOST_EVENTS):
            for application in self._world.applications:
                self._world.elect(application)
            turns = self._turns()
            unit = next((each for each in draw.sample(turns, len(turns)) if self._has_turn(each)), None)
            if unit is None:
                return
            await self._turn(unit)
        raise AssertionError(f"the model does not settle; {unit} always has another event")

    def units(self, application: str) -> tuple[str, ...]:
        """Return the names of the existing units, by number."""
        found = [
            each.name
            for each in self._world.units.values()
            if each.application == application and each.life is Life.ALIVE
        ]
        return tuple(sorted(found, key=names.order))

    def events(self, unit: str) -> list[str]:
        """Return the events of a unit, such as `install` and `db-relation-joined pg/0`; also of a removed unit."""
        return [_told(each.event) for each in self._world.stream(unit) if each.state is EventState.COMMITTED]

    def status(self, unit: str) -> Status | None:
        """Return the status that a unit has set; None if it has set none."""
        name, message = self._world.units[unit].status
        return _STATUSES[name](message) if name in _STATUSES else None

    def state(self, unit: str) -> Mapping[str, str]:
        """Return the charm's state of a unit."""
        return dict(self._world.units[unit].state)

    def bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit, such as `web/0`, or of an application."""
        return dict(self._world.bag(relation, owner))

    def storage(self, unit: str, name: str) -> Path:
        """Return the folder of a unit's first storage of a name, such as `data`. Raises `KeyError`."""
        found = [each for each, of in self._world.storages.items() if of.unit == unit and of.kind == name]
        if not found:
            raise KeyError(f"{unit} has no storage {name}")
        return self._folder / min(found, key=names.order)

    def deferred(self, unit: str) -> list[str]:
        """Return the deferred events of a unit, in order, as `events` names them."""
        return [_told(notice.read(each.event)) for each in self._world.units[unit].notices]

    def leader(self, application: str) -> str:
        """Return the name of the unit that leads; empty if none does."""
        return self._world.applications[application].leader

    def check(self) -> None:
        """Check the promises about the order of events; raises AssertionError with the broken ones.

        A charm cannot break them. The check shows that the calls of the test were legal as well.
        """
        violations = self._world.check(is_at_rest=not any(map(self._has_turn, self._turns())))
        assert not violations, "\n".join(str(each) for each in violations)

    def _turns(self) -> list[str]:
        living = (each.name for each in self._world.units.values() if each.life is not Life.DEAD)
        return sorted(living, key=names.order)

    def _has_turn(self, unit: str) -> bool:
        if self._world.running(unit) is not None or self._world.running_task(unit) is not None:
            return True
        if self._world.due(unit) is not None:
            return True
        return bool(resolve.next_task(self._world.ledger(unit), self._world.view(unit)))

    async def _turn(self, unit: str) -> None:
        """Run the handlers of a unit's event, or commit their effects; other units have turns in between."""
        if (handled := self._handled.pop(unit, None)) is not None:
            self._commit(unit, handled)
        elif (task := self._world.grant_task(unit)) is not None:
            await self._run_task(task)
        elif (running := self._world.grant(unit)) is not None:
            try:
                await self._run(running)
            except Exception as error:
                self._world.fail(unit, f"{type(error).__name__}: {error}")
                error.add_note(f"in {unit} #{running.ordinal} {_told(running.event)}")
                raise

    async def _run(self, running: worlds.Running) -> None:
        unit = running.unit
        if self._failures[unit]:
            self._failures[unit] -= 1
            self._world.fail(unit, "the test wants it to fail")
            return
        digest = running.event.seen.charm
        charm_class = self._classes[digest]
        given = surroundings.attempt(self._world, running, self._options[digest], self._folder)
        effects = await dispatch(charm_class, given, surroundings.Modelled(self._world, given, self._clock.read))
        is_killed = self._kills[unit] > 0
        self._kills[unit] -= is_killed
        self._handled[unit] = _Handled(effects, is_killed)

    async def _run_task(self, task: worlds.Task) -> None:
        """Run an action; its error becomes the failure of the task, as on a server."""
        unit = task.unit
        if self._failures[unit]:
            self._failures[unit] -= 1
            self._world.commit_task(unit, _failed("the test wants it to fail"))
            return
        digest = self._world.view(unit).code
        given = surroundings.task_attempt(self._world, task, self._options[digest], self._folder)
        modelled = surroundings.Modelled(self._world, given, self._clock.read)
        try:
            effects, outcome = await dispatching.run(self._classes[digest], given, modelled)
        except Exception as error:  # any error of an action fails only its task
            modelled.log += traceback.format_exc().splitlines()
            effects, outcome = NO_EFFECTS, _failed(f"{type(error).__name__}: {error}")
        self._told[task.id] = tuple(modelled.log)
        is_killed = self._kills[unit] > 0
        self._kills[unit] -= is_killed
        self._handled[unit] = _Handled(effects, is_killed, outcome)

    def _commit(self, unit: str, handled: _Handled) -> None:
        if handled.is_killed:
            (self._world.lose if handled.task is None else self._world.lose_task)(unit)
            return
        try:
            if handled.task is None:
                self._world.commit(unit, handled.effects)
            else:
                self._world.commit_task(unit, handled.task, handled.effects)
        except errors.NotLeader:
            return  # its term has ended meanwhile: an event is tried again, a task is not
        for each in handled.effects.storages:
            for _ in range(each.count):
                self._world.add_storage(unit, each.storage)

    def _charm(self, charm_class: type[Charm]) -> worlds.Charm:
        manifest = description.manifest(charm_class)
        known = next((digest for digest, each in self._classes.items() if each is charm_class), "")
        digest = known or f"{manifest.name}#{len(self._classes) + 1}"
        self._classes[digest] = charm_class
        self._options[digest] = manifest.options
        self._actions[digest] = manifest.actions
        return worlds.Charm(
            manifest.name,
            digest,
            {each.name: worlds.Endpoint(Role(each.role.value), each.interface) for each in manifest.endpoints.values()},
            tuple(each.name for each in manifest.storages.values() for _ in range(each.minimum)),
            optional_storage=tuple(each.name for each in manifest.storages.values() if not each.minimum),
        )


def _failed(why: str) -> TaskOutcome:
    return TaskOutcome(state=TaskState.FAILED, message=why)


def _told(event: UnitEvent) -> str:
    return f"{event.name} {event.unit}" if event.unit else event.name


def _json(config: Mapping[str, object]) -> dict[str, JsonValue]:
    return {key: description.to_json(value) for key, value in config.items()}
