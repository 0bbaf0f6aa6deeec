"""Makes attempts from a model, and answers their calls."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Attempt, RelationGiven, SecretGiven, SecretRead, TaskGiven, Value
from tinkwell.charm.status import Status
from tinkwell.core import errors as core_errors
from tinkwell.core.charm import config
from tinkwell.core.charm.record import Option
from tinkwell.core.unit import name
from tinkwell.core.unit.kinds import EventKind, Membership
from tinkwell.core.unit.ledger import NEVER_READ
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import RelationView, View
from tinkwell.core.unit.world import World
from tinkwell.core.unit.world.state import Running, Task
from tinkwell.core.value.document import JsonValue, dump_json

# The event of an attempt at a task, which nothing reads.
_NO_EVENT = UnitEvent(kind=EventKind.UPDATE_STATUS)


class Modelled:
    """The surroundings of an attempt in a model."""

    def __init__(self, world: World, given: Attempt, clock: Callable[[], datetime]) -> None:
        self._world = world
        self._unit = given.unit
        self._term = given.term
        self._given = given
        self._clock = clock
        # The log of the task.
        self.log: list[str] = []

    @property
    def is_leader(self) -> bool:
        """Whether the unit leads."""
        view = self._world.view(self._unit)
        return view.leads and view.term == self._term

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return a bag. Raises `NotReadable` if the unit may not read it."""
        for each in self._given.relations:
            if each.number == relation:
                readable = {*each.units, each.application, self._given.event.unit, self._unit}
                if owner in readable:
                    return dict(self._world.bag(relation, owner))
        raise errors.NotReadable(f"{self._unit} may not read the bag of {owner} in relation {relation}")

    async def read_secret(self, secret: str, revision: int) -> SecretRead:
        """Return a revision of a secret. Raises `SecretMissing`."""
        try:
            found, number = self._world.read_secret(self._unit, name=secret, revision=revision)
        except core_errors.NotFound as error:
            raise errors.SecretMissing(f"{error}, or {self._unit} was not granted it") from error
        return SecretRead(id=secret, revision=number, content=dict(found.revisions[number].content))

    def log_task(self, text: str) -> None:
        """Add a line to the log of the running task."""
        self.log.append(text)

    def now(self) -> datetime:
        """Return the model's time."""
        return self._clock()

    def set_status(self, status: Status) -> None:
        """Show a status."""
        self._world.set_status(self._unit, status.name, status.message)

    def set_application_status(self, status: Status) -> None:
        """Ignore a status of the application, which the model does not keep."""

    def set_workload_version(self, version: str) -> None:
        """Show a version."""
        self._world.units[self._unit].workload_version = version


def attempt(world: World, running: Running, options: Mapping[str, Option], folder: Path) -> Attempt:
    """Return the attempt at a running event, for a charm with these options; storages are below `folder`."""
    given = _given(world, running.unit, running.event, options, folder)
    reason = running.reason.value if running.reason else ""
    return replace(given, ordinal=running.ordinal, attempt=running.attempt, reason=reason)


def task_attempt(world: World, task: Task, options: Mapping[str, Option], folder: Path) -> Attempt:
    """Return the attempt at a running task, as `attempt` does."""
    given = _given(world, task.unit, _NO_EVENT, options, folder)
    return replace(given, task=TaskGiven(id=task.id, action=task.name, parameters=_plain(task.parameters)))


def _given(world: World, name_: str, event: UnitEvent, options: Mapping[str, Option], folder: Path) -> Attempt:
    unit, view, ledger = world.units[name_], world.view(name_), world.ledger(name_)
    return Attempt(
        unit=name_,
        ordinal=0,
        attempt=1,
        event=event,
        term=view.term,
        config=_config(world, view.application, options),
        relations=tuple(
            _relation(world, each, view) for each in view.relations.values() if _is_in(world, each, name_, event)
        ),
        storages={each: _folder(folder, each) for each in {*ledger.attached, *filter(None, [event.storage])}},
        state=dict(unit.state),
        notices=tuple(unit.notices),
        ports=frozenset(unit.ports),
        secrets=tuple(_secret(world, name_, each.id, is_owned=each.is_owner) for each in view.secrets.values()),
    )


def _secret(world: World, unit: str, secret: str, *, is_owned: bool) -> SecretGiven:
    found, told = world.secrets[secret], world.ledger(unit).secrets.get(secret, NEVER_READ)
    return SecretGiven(
        id=secret,
        owner=found.owner,
        is_owned=is_owned,
        label=found.label if is_owned else world.units[unit].labels.get(secret, ""),
        description=found.description if is_owned else "",
        latest=found.latest,
        tracked=told.tracked,
        rotation=found.rotation,
        rotates_at=found.rotates_at,
        expires_at=found.revisions[found.latest].expires_at,
        revisions=tuple(sorted(found.revisions)) if is_owned else (),
    )


def _plain(value: JsonValue) -> Any:
    """Return a JSON value as `json` reads it, because agents get it so."""
    return json.loads(dump_json(value))


def _config(world: World, application: str, options: Mapping[str, Option]) -> Mapping[str, Value]:
    found = config.effective(options, world.applications[application].config)
    return {key: value if isinstance(value, str | bool | int) else float(str(value)) for key, value in found.items()}


def _is_in(world: World, relation: RelationView, unit: str, event: UnitEvent) -> bool:
    told = world.ledger(unit).relations.get(relation.number)
    is_member = relation.membership in (Membership.ENTERING, Membership.IN)
    return relation.number == event.relation or (is_member and not (told is not None and told.broken))


def _relation(world: World, relation: RelationView, view: View) -> RelationGiven:
    told = world.ledger(view.unit).relations.get(relation.number)
    known = told.members if told is not None else {}
    # A unit sees those of its peers that it was told of.
    seen = [
        unit
        for unit, member in relation.members.items()
        if member.is_visible
        and (relation.is_peer or member.application != view.application or (unit in known and not known[unit].is_older))
    ]
    may_read = relation.is_peer or view.leads
    return RelationGiven(
        number=relation.number,
        endpoint=relation.endpoint,
        application=relation.application,
        is_peer=relation.is_peer,
        units=tuple(sorted(seen, key=name.order)),
        own=dict(world.bag(relation.number, view.unit)),
        own_application=dict(world.bag(relation.number, view.application)) if may_read else {},
    )


def _folder(parent: Path, storage: str) -> Path:
    path = parent / storage
    path.mkdir(parents=True, exist_ok=True)
    return path
