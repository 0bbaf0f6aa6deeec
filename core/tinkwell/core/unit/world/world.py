"""A server of one namespace, in memory: it keeps applications and units, and gives units their events.

It never waits and has no randomness: the caller decides when retries, ticks and expiries of leases happen. So tests try
every order of requests and commits, charms are tested without a server, and the fake server answers from it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from tinkwell.core import errors
from tinkwell.core.unit import effect
from tinkwell.core.unit.invariant import Violation, audit
from tinkwell.core.unit.kinds import EventKind, EventState, Life, Profile
from tinkwell.core.unit.ledger import Ledger
from tinkwell.core.unit.resolver import resolve
from tinkwell.core.unit.unit_event import UnitEvent
from tinkwell.core.unit.view import View
from tinkwell.core.unit.world import change, delivery, log, relating, request, running, secret, sight, task
from tinkwell.core.unit.world.charm import Charm
from tinkwell.core.unit.world.state import Application, LogEntry, Relation, Running, Secret, State, Storage, Task, Unit
from tinkwell.core.value.document import JsonObject, JsonValue


def _same(what: str) -> str:
    return what


def _never_later() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """Applications, units and relations of a namespace; the same calls give the same log.

    `make_id` returns a new unique id that contains the given text. `clock` says when secrets rotate and expire.
    Requests raise the same errors as the server.
    """

    def __init__(
        self,
        *,
        namespace: str = "default",
        make_id: Callable[[str], str] = _same,
        clock: Callable[[], datetime] = _never_later,
    ) -> None:
        self._state = State(namespace, make_id, clock)

    # Operators

    def deploy(
        self,
        name: str,
        charm: Charm,
        units: int = 1,
        *,
        profile: Profile = Profile.LITERAL,
        config: Mapping[str, JsonValue] | None = None,
        machine: str = "",
    ) -> list[str]:
        """Create an application with units, and return their names."""
        request.deploy(self._state, name, charm, profile=profile, config=config)
        return request.add_units(self._state, name, units, machine=machine)

    def add_units(
        self, application: str, count: int = 1, *, machine: str = "", attach: Iterable[str] = ()
    ) -> list[str]:
        """Create units, and return their names; `attach` are free storages for a single one."""
        return request.add_units(self._state, application, count, machine=machine, attach=attach)

    def remove_unit(self, unit: str, *, is_forced: bool = False, keep_storage: bool = False, actor: str = "") -> None:
        """Begin a unit's removal; with `is_forced` it is removed at once."""
        found = self._state.unit(unit)
        request.remove_unit(self._state, found, is_forced=is_forced, keep_storage=keep_storage, actor=actor)

    def remove_application(self, name: str, *, is_forced: bool = False, actor: str = "") -> None:
        """Begin the removal of an application, with its units and relations."""
        request.remove_application(self._state, name, is_forced=is_forced, actor=actor)

    def relate(self, one: str, other: str) -> int:
        """Relate two endpoints, such as `web:db` and `pg:db`, and return the relation's number."""
        return relating.relate(self._state, one, other)

    def unrelate(self, number: int, *, actor: str = "") -> None:
        """Begin a relation's removal; both sides break it at the same time."""
        relation = self._state.relation(number)
        if relation.is_peer:
            raise errors.IllegalTransition(f"relation {number}", "a relation of peers goes with its application")
        relating.let_die(self._state, relation, actor)
        change.reap(self._state)

    def set_config(self, application: str, edits: Mapping[str, JsonValue]) -> None:
        """Set values of an application's configuration; None restores a default."""
        request.set_config(self._state, application, edits)

    def refresh(self, application: str, charm: Charm) -> None:
        request.refresh(self._state, application, charm)

    def add_storage(self, unit: str, name: str) -> str:
        """Create a storage for a unit, and return its name."""
        return request.add_storage(self._state, self._state.unit(unit), name)

    def attach(self, unit: str, storage: str) -> None:
        """Attach a free storage of the same machine to a unit."""
        request.attach(self._state, self._state.unit(unit), storage)

    def detach(self, storage: str, *, actor: str = "") -> None:
        """Detach a storage from its unit; it stays, free."""
        request.detach(self._state, storage, actor=actor)

    def remove_storage(self, storage: str) -> None:
        """Delete a storage that no unit has."""
        request.remove_storage(self._state, storage)

    def request(self, unit: str, kind: EventKind) -> None:
        """Request `pre-series-upgrade`, `post-series-upgrade` or `collect-metrics`."""
        request.request(self._state, self._state.unit(unit), kind)

    def skip(self, unit: str, *, actor: str = "") -> None:
        """Skip the event of a unit that is in ERROR."""
        request.skip(self._state, self._state.unit(unit), actor=actor)

    def hold(self, unit: str, *, is_held: bool = True) -> None:
        """Set whether a workflow holds a unit's machine: a held unit gets no new events."""
        self._state.unit(unit).is_held = is_held

    def place(self, unit: str, machine: str) -> None:
        """Assign a machine to a unit that was created without one."""
        found = self._state.unit(unit)
        found.machine = machine
        for storage in self._state.storages_of(unit):
            storage.machine = machine
        log.write_unit(self._state, found)

    def tick(self, unit: str) -> None:
        """Make `update-status` due; calls while it is due have no effect."""
        self._state.unit(unit).is_tick_due = True

    def run_task(
        self,
        unit: str,
        name: str = "",
        parameters: JsonObject | None = None,
        *,
        arguments: Sequence[str] = (),
        timeout_seconds: int = 0,
        actor: str = "",
    ) -> str:
        """Ask a unit to run an action of its charm, or a command if there are `arguments`, and return the task's id."""
        asked = task.ask(
            self._state,
            self._state.unit(unit),
            name=name,
            parameters=parameters,
            arguments=tuple(arguments),
            timeout_seconds=timeout_seconds,
            actor=actor,
        )
        return asked.id

    def cancel_task(self, id_: str, *, actor: str = "") -> Task:
        """Cancel a task: a PENDING one ends at once, a RUNNING one is ended by its agent."""
        return task.cancel(self._state, self._state.task(id_), actor=actor)

    def create_secret(self, name: str, content: Mapping[str, str], *, label: str = "", description: str = "") -> Secret:
        """Create a user's secret."""
        return secret.create(self._state, name, content=content, label=label, description=description)

    def update_secret(self, edit: effect.SecretSet) -> Secret:
        """Change a user's secret."""
        found = self._state.secret(edit.id)
        secret.update(self._state, found, edit)
        return found

    def remove_secret(self, name: str, revision: int = 0) -> None:
        """Remove a revision of a secret, or all of it."""
        secret.remove(self._state, self._state.secret(name), revision)

    def grant_secret(self, name: str, application: str, *, is_granted: bool = True) -> None:
        """Grant a user's secret to the units of an application, or take the grant back."""
        change_ = secret.let_read if is_granted else secret.take_back
        change_(self._state, self._state.secret(name), self._state.application(application).name)

    # Agents

    def due(self, unit: str) -> UnitEvent | None:
        """Return the event that a unit would get if no event of it were in flight."""
        found = self._state.unit(unit)
        return resolve.next_event(found.ledger, sight.view(self._state, found))

    def due_task(self, unit: str) -> str:
        """Return the id of the task that a unit would get now; "" while an event or a task runs."""
        found = self._state.unit(unit)
        event = found.running
        if self.running_task(unit) is not None or (event is not None and event.state is EventState.RUNNING):
            return ""
        return resolve.next_task(found.ledger, self.view(unit), has_error=event is not None)

    def grant(self, unit: str, *, may_retry: bool = True) -> Running | None:
        """Return the event that a unit is to run now; None if none is due, or it waits for its next attempt."""
        return delivery.grant(self._state, self._state.unit(unit), may_retry=may_retry)

    def commit(self, unit: str, effects: effect.Effects = effect.NO_EFFECTS) -> Running | None:
        """Commit the event that a unit runs, and return the next one. Raises CommitRefused and NotLeader."""
        return delivery.commit(self._state, self._state.unit(unit), effects)

    def grant_task(self, unit: str) -> Task | None:
        """Return the task that a unit is to run now; None if there is none, or an event comes first."""
        return running.grant(self._state, self._state.unit(unit))

    def commit_task(self, unit: str, outcome: effect.TaskOutcome, effects: effect.Effects = effect.NO_EFFECTS) -> Task:
        """End the task that a unit runs. Raises CommitRefused and NotLeader, after which it is FAILED."""
        return running.commit(self._state, self._state.unit(unit), outcome, effects)

    def lose_task(self, unit: str) -> None:
        """Record that the running task of a unit was lost."""
        running.lose(self._state, self._state.unit(unit))

    def read_secret(self, unit: str, *, name: str = "", label: str = "", revision: int = 0) -> tuple[Secret, int]:
        """Return a secret that a unit may read, and the revision; 0 means the newest one."""
        return secret.read(self._state, self._state.unit(unit), name=name, label=label, revision=revision)

    def fail(self, unit: str, message: str) -> None:
        """Record that the running event of a unit has failed."""
        delivery.fail(self._state, self._state.unit(unit), message)

    def lose(self, unit: str) -> None:
        """Record that the running attempt of a unit was lost; a second loss in a row is a failure."""
        delivery.lose(self._state, self._state.unit(unit))

    def hand_back(self, unit: str) -> None:
        """Record that the unit's agent ended the attempt because the agent stops; the next grant tries again."""
        delivery.hand_back(self._state, self._state.unit(unit))

    def silence(self, unit: str) -> None:
        """Record that a unit's agent has been silent for so long that a leader's term is over."""
        self._state.unit(unit).is_heard = False

    def hear(self, unit: str) -> None:
        """Record that a unit's agent is alive. A leader goes on leading unless another unit was elected."""
        self._state.unit(unit).is_heard = True

    def elect(self, application: str) -> str:
        """Elect a leader if no unit leads, and return the leader."""
        return delivery.elect(self._state, self._state.application(application))

    def set_status(self, unit: str, name: str, message: str = "") -> None:
        """Set a unit's status at once."""
        found = self._state.unit(unit)
        if found.status != (name, message):
            found.status = (name, message)
            log.write_unit(self._state, found, "UNIT_STATUS_CHANGED")

    # Reading

    @property
    def applications(self) -> Mapping[str, Application]:
        return self._state.applications

    @property
    def units(self) -> Mapping[str, Unit]:
        """The units, including DEAD units whose departure others have still to be told."""
        return self._state.units

    @property
    def relations(self) -> Mapping[int, Relation]:
        return self._state.relations

    @property
    def storages(self) -> Mapping[str, Storage]:
        return self._state.storages

    @property
    def secrets(self) -> Mapping[str, Secret]:
        """The secrets, by the names that charms know."""
        return self._state.secrets

    @property
    def tasks(self) -> Mapping[str, Task]:
        """The tasks of existing units, by their ids."""
        return self._state.tasks

    def may_read(self, unit: str, name: str) -> bool:
        """Whether a unit may read a secret."""
        return secret.may_read(self._state, self._state.unit(unit), self._state.secret(name))

    def running_task(self, unit: str) -> Task | None:
        """Return the task that a unit runs."""
        return self._state.running_task(unit)

    def bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return the bag of a unit or an application in a relation."""
        bag = self._state.relation(relation).bags.get(owner)
        return bag.data if bag else {}

    def ledger(self, unit: str) -> Ledger:
        """Return a unit's ledger."""
        return self._state.unit(unit).ledger

    def view(self, unit: str) -> View:
        """Return a unit's view."""
        return sight.view(self._state, self._state.unit(unit))

    def running(self, unit: str) -> Running | None:
        """Return the event of a unit that is in flight: RUNNING or in ERROR."""
        return self._state.unit(unit).running

    def stream(self, unit: str) -> list[Running]:
        """Return the events that a unit was told or that were skipped, in order; also for a unit that is gone."""
        return self._state.streams.get(unit, [])

    def records(self) -> list[LogEntry]:
        """Return everything that Watch shows, in order."""
        return self._state.log

    def check(self, *, is_at_rest: bool = False) -> list[Violation]:
        """Return every violation of an invariant; `is_at_rest`: no event is due."""
        return audit(self._state.log, namespace=self._state.namespace, is_at_rest=is_at_rest)

    def living(self) -> list[str]:
        """Return the names of the units that are not DEAD."""
        return [name for name, unit in self._state.units.items() if unit.life is not Life.DEAD]

    def is_busy(self, unit: str) -> bool:
        """Whether a unit has an event or a task in flight or due, or is being removed."""
        found = self._state.unit(unit)
        if found.running is not None or found.life is Life.DYING or self.running_task(unit) is not None:
            return True
        return bool(self.due_task(unit)) or self.due(unit) is not None

    def failed(self) -> list[str]:
        """Return the units with an event in ERROR."""
        units = self._state.units.values()
        return [unit.name for unit in units if unit.running and unit.running.state is EventState.ERROR]

    def copy(self) -> "World":
        """Return an independent copy of this world."""
        copied = World()
        copied._state = self._state.copied()
        return copied

    def key(self) -> Hashable:
        """Return a key that is equal for worlds with the same possible future and the same streams of events."""
        return self._state.key()
