"""A world in which one operation is carried out: its store, its owner, and the containers of two engines.

What may happen next are the `events` of a world, and `perform` makes one happen. So a test may choose among them by
chance or try all of them. Each thing that happens is checked against what must always hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unit.core import release_promise as promise
from unit.core.release_model import OPERATION_ID, RUNNING, Store, node, planned, store
from unit.core.release_party import ANSWERS, ENGINES, Container, Event, Owner, Run, stored_nodes

from tinkwell.core.event.kinds import State
from tinkwell.core.lease import lease
from tinkwell.core.release import walk
from tinkwell.core.release.decision import outcome, view
from tinkwell.core.release.decision.command import (
    AdoptStep,
    Command,
    Emit,
    Finish,
    MoveNode,
    MovePhase,
    StartStep,
    StopEmit,
    StopStep,
    Wait,
)
from tinkwell.core.release.decision.decide import decide
from tinkwell.core.release.decision.outcome import Outcome, Settled
from tinkwell.core.release.decision.view import InitFacts, NodeSpec, StepKey
from tinkwell.core.release.kinds import NodeKind, Phase, StepKind
from tinkwell.core.release.lifecycle_event.path import split_event
from tinkwell.core.release.lifecycle_event.run import Outcome as Emitted
from tinkwell.core.release.plan import Plan
from tinkwell.core.release.record import Options
from tinkwell.core.release.report import (
    FinishReport,
    LifecycleReport,
    PhaseReport,
    RemovedReport,
    Report,
    ResourceReport,
)
from tinkwell.core.release.transition import ending
from tinkwell.core.release.transition import operation as rule


@dataclass(repr=False)
class World:
    """Everything. `problems` are what the owner would find wrong with nodes before it changes anything."""

    plan: Plan
    specs: Mapping[str, NodeSpec]
    facts: Mapping[str, InitFacts]
    store: Store
    known: dict[str, InitFacts] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    owner: Owner | None = None
    held_by: lease.Lease | None = None
    containers: dict[Run, Container] = field(default_factory=dict)
    launched: frozenset[Run] = frozenset()
    crashes: int = 0
    max_crashes: int = 3
    answers: Sequence[str] = tuple(ANSWERS)
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"World({self.plan!r}, {self.specs!r}, {self.facts!r}, {self.options!r})"

    def copy(self) -> "World":
        return replace(
            self,
            store=self.store.copy(),
            known=dict(self.known),
            owner=self.owner.copy() if self.owner else None,
            containers=dict(self.containers),
        )

    def key(self) -> object:
        """Return what tells this world from others."""
        owner = self.owner
        seen = None
        if owner is not None:
            times = (owner.view.remaining_seconds, owner.view.cancel_seconds)
            seen = (owner.engine, frozenset(owner.view.nodes.values()), times, owner.running, owner.waiting)
        return (
            self.store.operation,
            frozenset(self.store.nodes.values()),
            tuple(tuple(steps) for steps in self.store.steps.values()),
            seen,
            frozenset(self.containers.items()),
            (self.held_by, self.launched, self.crashes, frozenset(self.known)),
        )

    @property
    def options(self) -> Options:
        return self.store.operation.options

    @property
    def is_over(self) -> bool:
        return self.store.operation.state.is_final

    @property
    def is_stopping(self) -> bool:
        return self.store.operation.is_cancel_requested or self.store.operation.remaining_seconds <= 0

    # What may happen

    def events(self) -> list[Event]:
        if self.is_over:
            return []
        exits = [Event("exit", run, how) for run in self.containers_running() for how in ("ok", "fail")]
        if self.owner is None:
            takes = [Event(f"take {engine}") for engine in ENGINES]
            return [*takes, *exits, Event("cancel"), Event("pass", how="deadline")]
        return [*self._owner_events(self.owner), *exits]

    def _owner_events(self, owner: Owner) -> list[Event]:
        found: list[Event] = []
        if self.command(owner) is not None:
            found.append(Event("obey"))
        found += [Event("launch", run) for run in sorted(owner.waiting)]
        found += self._answers(owner)
        found += [Event("timeout", run) for run in self.containers_running() if run.step in owner.running]
        found += [Event("pass", how="wait")] if self.wait(owner) is not None else []
        if self.crashes < self.max_crashes:
            found.append(Event("crash"))
        if not self.store.operation.is_cancel_requested:
            found += [Event("cancel"), Event("cancel", how="now")]
        if self.store.operation.remaining_seconds > 0:
            found.append(Event("pass", how="deadline"))
        return found

    def _answers(self, owner: Owner) -> list[Event]:
        """Return how calls without effects may end that run here."""
        found: list[Event] = []
        waiting = {run.step for run in owner.waiting}
        for key in sorted(owner.running - waiting):
            if key == view.event_key(key.path):
                found += [Event("heard", Run(key.path, key.ordinal, 1), how) for how in Emitted]
                continue
            step = owner.view.step(key)
            if not step.kind.has_effects:
                hows = ("ok", "fail") if step.kind is StepKind.INIT else (*self.answers, "fail")
                found += [Event("answer", Run(key.path, key.ordinal, step.attempt), how) for how in hows]
        return found

    def containers_running(self) -> list[Run]:
        return sorted(run for run, container in self.containers.items() if container.exit_code is None)

    def command(self, owner: Owner) -> Command | None:
        """Return the first command that there is anything to do about."""
        return next((each for each in self.commands(owner) if not isinstance(each, Wait)), None)

    def wait(self, owner: Owner) -> float | None:
        """Return the shortest time after which there is more to do."""
        waits = [each.seconds for each in self.commands(owner) if isinstance(each, Wait)]
        return min((seconds for seconds in waits if seconds is not None), default=None)

    def commands(self, owner: Owner) -> list[Command]:
        commands = list(decide(owner.view, owner.running))
        promise.check_commands(commands, is_stopping=self.is_stopping)
        return commands

    # What happens

    def perform(self, event: Event) -> None:
        match event.name:
            case "obey":
                assert self.owner is not None
                command = self.command(self.owner)
                assert command is not None
                self._obey(self.owner, command)
            case "launch":
                assert event.run is not None
                self._launch(event.run)
            case "answer":
                assert event.run is not None
                self._answer(event.run, event.how)
            case "heard":
                assert event.run is not None
                self._heard(event.run.path, Emitted(event.how))
            case "exit":
                assert event.run is not None
                self._exit(event.run, event.how)
            case "timeout":
                assert event.run is not None
                del self.containers[event.run]
                self._end(event.run.step, Outcome(state=State.TIMEOUT, message="too slow"))
            case "crash":
                self.owner, self.crashes = None, self.crashes + 1
                self.store.is_held = False
            case "cancel":
                self._cancel(now=event.how == "now")
            case "pass":
                self._pass(event.how)
            case _:
                self._take(event.name.removeprefix("take "))
        promise.check(self.store, self.options)

    def _take(self, engine: str) -> None:
        assert self.owner is None
        assert not self.is_over
        self._acquire(engine)
        row = self.store.operation
        built = view.build(
            operation_id=row.id,
            plan=self.plan,
            options=row.options,
            phase=row.phase,
            nodes=stored_nodes(self.plan, self.store),
            specs=self.specs,
            inits=self.known,
            remaining_seconds=row.remaining_seconds,
            cancel_seconds=float(row.cancel_grace_seconds) if row.is_cancel_requested else None,
        )
        for path, problem in self.problems.items():
            if not built.nodes[path].is_begun:
                built = built.with_node(replace(built.nodes[path], problem=problem))
        self.owner = Owner(engine, built)
        self._clear_away(engine)

    def _acquire(self, engine: str) -> None:
        former = replace(self.held_by, is_live=False) if self.held_by is not None else None
        lease_id = former.id if former is not None else ""
        hold = lease.Hold(kind="operation", id=OPERATION_ID, lease_id=lease_id, lease=former)
        self.held_by = lease.Lease(id=f"{engine}-{self.crashes}", engine=engine, is_live=True)
        steps = [step.row for steps in self.store.steps.values() for step in steps if step.row.state is RUNNING]
        acquired = rule.acquire(
            self.store.operation,
            release_engine="",
            running=steps,
            hold=hold,
            reporter=lease.Reporter(1, self.held_by),
        )
        self.store.apply(acquired.changes)

    def _clear_away(self, engine: str) -> None:
        """Stop what still runs here of steps that have ended: those that were lost, and have come back."""
        for run, container in list(self.containers.items()):
            if container.engine == engine and self.store.steps[run.path][run.ordinal - 1].row.state.is_final:
                del self.containers[run]

    def _obey(self, owner: Owner, command: Command) -> None:
        match command:
            case StartStep():
                self._settle(outcome.start(owner.view, command))
                owner.running |= {command.step}
                owner.waiting |= {Run(command.step.path, command.step.ordinal, command.attempt)}
                promise.check_alone(owner, command)
            case AdoptStep():
                self._adopt(owner, Run(command.step.path, command.step.ordinal, command.attempt))
            case StopStep():
                run = Run(command.step.path, command.step.ordinal, owner.view.step(command.step).attempt)
                owner.waiting -= {run}
                if (found := self.containers.get(run)) is not None and found.engine == owner.engine:
                    del self.containers[run]
                self._end(command.step, Outcome(state=command.state, message=command.reason))
            case MoveNode():
                promise.check_begin(self.plan, self.store, self.options, command)
                promise.check_chart_end(self.plan, self.store, command)
                self._settle(outcome.move(owner.view, command))
            case Emit() | StopEmit():
                key = frozenset({view.event_key(command.path)})
                owner.running = owner.running | key if isinstance(command, Emit) else owner.running - key
            case MovePhase(phase=phase):
                self._settle(Settled(replace(owner.view, phase=phase), (PhaseReport(phase),)))
            case Finish():
                self._finish(owner, command)
            case Wait():
                raise AssertionError("nothing to do")

    def _finish(self, owner: Owner, command: Finish) -> None:
        assert not owner.running, "the owner knows of nothing that runs"
        left = [run for run in self.containers_running() if self.containers[run].engine == owner.engine]
        assert not left, f"nothing runs here any more: {left}"
        self._report(FinishReport(state=command.state, cause=command.cause))
        self.owner = None
        promise.check_end(self.store, self.launched)

    def _launch(self, run: Run) -> None:
        assert self.owner is not None
        self.owner.waiting -= {run}
        kind = self.owner.view.step(run.step).kind
        if not kind.has_effects:
            return
        assert run not in self.launched, "an attempt runs once"
        stored = self.store.steps[run.path][run.ordinal - 1].row
        assert (stored.state, stored.attempt) == (RUNNING, run.attempt), "intent is stored before it runs"
        assert self.store.nodes[run.path].row.state in walk.BEGUN, "nothing runs for a node that is final"
        for other in self.containers_running():
            is_lost = self.containers[other].engine != self.owner.engine and self.options.accept_lost
            assert other.path != run.path or is_lost, "no two actions of one resource at once"
        self.launched |= {run}
        self.containers[run] = Container(self.owner.engine)

    def _adopt(self, owner: Owner, run: Run) -> None:
        found = self.containers.get(run)
        if found is None or found.engine != owner.engine:
            self._end(run.step, Outcome(state=State.CANCELLED, message="it never ran"))
        elif found.exit_code is None:
            owner.running |= {run.step}
        else:
            self._exited(run, found.exit_code)

    def _exit(self, run: Run, how: str) -> None:
        code = 0 if how == "ok" else 7
        self.containers[run] = replace(self.containers[run], exit_code=code)
        if self.owner is not None and run.step in self.owner.running:
            self._exited(run, code)

    def _exited(self, run: Run, code: int) -> None:
        del self.containers[run]
        state = State.SUCCEEDED if code == 0 else State.FAILED
        self._end(run.step, Outcome(state=state, exit_code=code))

    def _answer(self, run: Run, how: str) -> None:
        if how == "fail":
            self._end(run.step, Outcome(state=State.FAILED, exit_code=1, message="broken"))
        elif how == "ok":
            self._end(run.step, Outcome(state=State.SUCCEEDED, init=self.facts[run.path], init_text="{}"))
            if self.store.nodes[run.path].row.kind is NodeKind.RESOURCE:
                self.known[run.path] = self.facts[run.path]
        else:
            self._end(run.step, Outcome(state=State.SUCCEEDED, exit_code=0, answer=ANSWERS[how], message="differs"))

    def _heard(self, path: str, how: Emitted) -> None:
        assert self.owner is not None
        chart, event = split_event(path)
        self.owner.running -= {view.event_key(path)}
        told = LifecycleReport(event=event, chart=chart, outcome=how, message="it said so")
        self._settle(outcome.emitted(self.owner.view, path, told))

    def _end(self, key: StepKey, ended: Outcome) -> None:
        owner = self.owner
        assert owner is not None
        owner.running -= {key}
        self._settle(outcome.end(owner.view, key, ended))

    def _settle(self, settled: Settled) -> None:
        assert self.owner is not None
        self.owner.view = settled.view
        self._report(*settled.reports)

    def _report(self, *reports: Report) -> None:
        self.store.report(*reports)
        assert self.is_over or self.store.report(*reports) == () or _may_repeat(reports), "a repetition changes nothing"

    def _cancel(self, *, now: bool) -> None:
        row = self.store.operation
        if self.owner is None:
            self.store.apply(ending.cancel(row, self.store.leftover(), reason="enough"))
            promise.check_end(self.store, self.launched)
            return
        grace = 0 if now else rule.GRACE_SECONDS
        self.store.operation = replace(row, is_cancel_requested=True, cancel_grace_seconds=grace)
        self.owner.view = replace(self.owner.view, cancel_seconds=float(grace))

    def _pass(self, how: str) -> None:
        row = self.store.operation
        if how == "deadline":
            seconds = row.remaining_seconds
        else:
            assert self.owner is not None
            wait = self.wait(self.owner)
            assert wait is not None
            seconds = wait
        self.seconds += seconds
        row = replace(row, remaining_seconds=row.remaining_seconds - seconds)
        self.store.operation = row
        if self.owner is not None:
            self.owner.view = self.owner.view.after(seconds)
        elif ending.is_due(row, None):
            self.store.apply(ending.expire(row, self.store.leftover()))
            promise.check_end(self.store, self.launched)


def settle(world: World, *, limit: int = 400) -> None:
    """Let everything succeed from now on, until the operation has ended."""
    for _ in range(limit):
        if world.is_over:
            return
        events = {(event.name, event.how): event for event in reversed(world.events())}
        for wish in _WISHES:
            if wish in events:
                world.perform(events[wish])
                break
        else:
            raise AssertionError(f"nothing goes on: {world.events()}")
    raise AssertionError("it does not settle")


_WISHES = [
    ("obey", ""),
    ("launch", ""),
    ("heard", "SUCCEEDED"),
    ("answer", "ok"),
    ("answer", "valid"),
    ("exit", "ok"),
    ("pass", "wait"),
    ("take a", ""),
]


def _may_repeat(reports: tuple[Report, ...]) -> bool:
    """Whether reports say what is known of a resource or an event, which is stored again with the same content."""
    return any(isinstance(report, ResourceReport | RemovedReport | LifecycleReport) for report in reports)


def world(
    plan: Plan, *, specs: Mapping[str, NodeSpec], facts: Mapping[str, InitFacts], known: Any = (), **fields: Any
) -> World:
    """Make the world of an operation whose plan is stored, and that nobody carries out yet."""
    problems = fields.pop("problems", {})
    row = planned(total_nodes=len(plan.resources), phase=Phase.APPLY, **fields)
    rows = [node(each.path, task=each.task, kind=NodeKind(each.kind)) for each in plan.real]
    return World(
        plan=plan,
        specs=specs,
        facts=facts,
        store=store(*rows, work=row),
        known={path: facts[path] for path in known},
        problems=problems,
    )
