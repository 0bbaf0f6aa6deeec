"""A server of one namespace without a server: it keeps applications and units, and gives units their events.

Nothing in it waits or is random: what comes when (retries, ticks, the end of leases) is for whoever drives it. So tests
try every order of requests and commits, charms are tested without a server, and the fake server answers from it.
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

    `make_id` makes an id of a text that nothing else has. `clock` says when secrets are to be rotated and expire.
    Requests raise what the server raises for them.
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
        """Have a unit go, or, by force, be gone at once."""
        found = self._state.unit(unit)
        request.remove_unit(self._state, found, is_forced=is_forced, keep_storage=keep_storage, actor=actor)

    def remove_application(self, name: str, *, is_forced: bool = False, actor: str = "") -> None:
        """Have an application go, with its units and relations."""
        request.remove_application(self._state, name, is_forced=is_forced, actor=actor)

    def relate(self, one: str, other: str) -> int:
        """Join two endpoints, `web:db` and `pg:db`, and return the relation's number."""
        return relating.relate(self._state, one, other)

    def unrelate(self, number: int, *, actor: str = "") -> None:
        """Have a relation go; both sides break it at the same time."""
        relation = self._state.relation(number)
        if relation.is_peer:
            raise errors.IllegalTransition(f"relation {number}", "a relation of peers goes with its application")
        relating.let_die(self._state, relation, actor)
        change.reap(self._state)

    def set_config(self, application: str, edits: Mapping[str, JsonValue]) -> None:
        """Set values of an application's configuration; None gives a default back."""
        request.set_config(self._state, application, edits)

    def refresh(self, application: str, charm: Charm) -> None:
        """Give an application another charm."""
        request.refresh(self._state, application, charm)

    def add_storage(self, unit: str, name: str) -> str:
        """Create a storage for a unit, and return its name."""
        return request.add_storage(self._state, self._state.unit(unit), name)

    def attach(self, unit: str, storage: str) -> None:
        """Allot a free storage to a unit of the same machine."""
        request.attach(self._state, self._state.unit(unit), storage)

    def detach(self, storage: str, *, actor: str = "") -> None:
        """Have a storage leave its unit; it stays, free."""
        request.detach(self._state, storage, actor=actor)

    def remove_storage(self, storage: str) -> None:
        """Forget a storage that no unit has."""
        request.remove_storage(self._state, storage)

    def request(self, unit: str, kind: EventKind) -> None:
        """Ask for `pre-series-upgrade`, `post-series-upgrade` or `collect-metrics`."""
        request.request(self._state, self._state.unit(unit), kind)

    def skip(self, unit: str, *, actor: str = "") -> None:
        """Leave out the event of a unit that is in ERROR."""
        request.skip(self._state, self._state.unit(unit), actor=actor)

    def hold(self, unit: str, *, is_held: bool = True) -> None:
        """Say whether a workflow holds a unit's machine: then it gets no new events."""
        self._state.unit(unit).is_held = is_held

    def place(self, unit: str, machine: str) -> None:
        """Say on which machine a unit is, that was created without one."""
        found = self._state.unit(unit)
        found.machine = machine
        for storage in self._state.storages_of(unit):
            storage.machine = machine
        log.write_unit(self._state, found)

    def tick(self, unit: str) -> None:
        """Say that `update-status` is due; what is due already is not due twice."""
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
        """Ask a unit to run an action of its charm, or with `arguments` a command, and return the task's id."""
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
        """End a task: at once where it waits; where it runs, its agent is to end it."""
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
        """Let the units of an application read a user's secret, or let them no more."""
        change_ = secret.let_read if is_granted else secret.take_back
        change_(self._state, self._state.secret(name), self._state.application(application).name)

    # Agents

    def due(self, unit: str) -> UnitEvent | None:
        """Return what a unit would be given if nothing of it were in flight."""
        found = self._state.unit(unit)
        return resolve.next_event(found.ledger, sight.view(self._state, found))

    def due_task(self, unit: str) -> str:
        """Return the id of the task that a unit would be given now; "" while an event or a task runs."""
        found = self._state.unit(unit)
        event = found.running
        if self.running_task(unit) is not None or (event is not None and event.state is EventState.RUNNING):
            return ""
        return resolve.next_task(found.ledger, self.view(unit), has_error=event is not None)

    def grant(self, unit: str, *, may_retry: bool = True) -> Running | None:
        """Return the event that a unit is to run now; None if nothing is due, or it waits to be tried again."""
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
        """Say that nobody knows what became of the task that a unit runs."""
        running.lose(self._state, self._state.unit(unit))

    def read_secret(self, unit: str, *, name: str = "", label: str = "", revision: int = 0) -> tuple[Secret, int]:
        """Return a secret that a unit may read, and which of its revisions: the newest one for 0."""
        return secret.read(self._state, self._state.unit(unit), name=name, label=label, revision=revision)

    def fail(self, unit: str, message: str) -> None:
        """Say that the event that a unit runs has failed."""
        delivery.fail(self._state, self._state.unit(unit), message)

    def lose(self, unit: str) -> None:
        """Say that nobody knows what became of the attempt that a unit runs; after the second one it has failed."""
        delivery.lose(self._state, self._state.unit(unit))

    def hand_back(self, unit: str) -> None:
        """Say that the agent of a unit has ended the attempt because it stops: the next grant makes another one."""
        delivery.hand_back(self._state, self._state.unit(unit))

    def silence(self, unit: str) -> None:
        """Say that a unit's agent has not been alive for so long that a leader's term is over."""
        self._state.unit(unit).is_heard = False

    def hear(self, unit: str) -> None:
        """Say that a unit's agent is alive. Who led leads on, unless somebody else was elected."""
        self._state.unit(unit).is_heard = True

    def elect(self, application: str) -> str:
        """Elect a leader if nobody leads, and return who leads."""
        return delivery.elect(self._state, self._state.application(application))

    def set_status(self, unit: str, name: str, message: str = "") -> None:
        """Set what a unit says of itself, at once."""
        found = self._state.unit(unit)
        if found.status != (name, message):
            found.status = (name, message)
            log.write_unit(self._state, found, "UNIT_STATUS_CHANGED")

    # To look at

    @property
    def applications(self) -> Mapping[str, Application]:
        return self._state.applications

    @property
    def units(self) -> Mapping[str, Unit]:
        """The units, also DEAD ones that somebody has still to be told of."""
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
        """The tasks of the units that are there, by their ids."""
        return self._state.tasks

    def may_read(self, unit: str, name: str) -> bool:
        """Whether a unit may read a secret."""
        return secret.may_read(self._state, self._state.unit(unit), self._state.secret(name))

    def running_task(self, unit: str) -> Task | None:
        """Return the task that a unit runs."""
        return self._state.running_task(unit)

    def bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Return what a unit or an application says in a relation."""
        bag = self._state.relation(relation).bags.get(owner)
        return bag.data if bag else {}

    def ledger(self, unit: str) -> Ledger:
        """Return what a unit was told."""
        return self._state.unit(unit).ledger

    def view(self, unit: str) -> View:
        """Return what a unit's next event depends on beside its ledger."""
        return sight.view(self._state, self._state.unit(unit))

    def running(self, unit: str) -> Running | None:
        """Return the event of a unit that is in flight: RUNNING or in ERROR."""
        return self._state.unit(unit).running

    def stream(self, unit: str) -> list[Running]:
        """Return the events that a unit was told or that were skipped, in order; also of one that is gone."""
        return self._state.streams.get(unit, [])

    def records(self) -> list[LogEntry]:
        """Return everything that Watch shows, in order."""
        return self._state.log

    def check(self, *, is_at_rest: bool = False) -> list[Violation]:
        """Return every violation of an invariant; `is_at_rest` says that nothing is due any more."""
        return audit(self._state.log, namespace=self._state.namespace, is_at_rest=is_at_rest)

    def living(self) -> list[str]:
        """Return the names of the units that are not DEAD."""
        return [name for name, unit in self._state.units.items() if unit.life is not Life.DEAD]

    def is_busy(self, unit: str) -> bool:
        """Whether a unit has an event or a task in flight or due, or is to go."""
        found = self._state.unit(unit)
        if found.running is not None or found.life is Life.DYING or self.running_task(unit) is not None:
            return True
        return bool(self.due_task(unit)) or self.due(unit) is not None

    def failed(self) -> list[str]:
        """Return the units of which an event is in ERROR."""
        units = self._state.units.values()
        return [unit.name for unit in units if unit.running and unit.running.state is EventState.ERROR]

    def copy(self) -> "World":
        """Return a world that goes on from here by itself."""
        copied = World()
        copied._state = self._state.copied()
        return copied

    def key(self) -> Hashable:
        """Return what tells worlds apart from which different things may follow, with what each unit was told."""
        return self._state.key()
