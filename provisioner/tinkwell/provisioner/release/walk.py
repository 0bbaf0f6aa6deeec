"""Walks the plan of one operation: asks `core.release.decision.decide` for commands, and carries them out.

                  ┌──────── ends of steps, cancellation of the operation, time
                  ▼
    view ─▶ decide ─▶ commands ─▶ steps, each a task ─▶ reports, in the order of what changed

The view is the operation as it will be once the server has stored every posted report. Only this walk reports about the
operation, so the view changes at once; if the server refuses a report, this provisioner gives the operation up, and the
view with it. Containers must not be ahead of the server: a step starts its container only after the server has stored
that the step is RUNNING, and removes it only after the server has stored the step's end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol, assert_never

from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.release.model import Operation
from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import outcome, preview
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
from tinkwell.core.release.decision.view import OperationView, StepKey, event_key
from tinkwell.core.release.lifecycle_event.path import split_event
from tinkwell.core.release.report import PhaseReport, step_id
from tinkwell.core.release.walk import BEGUN
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent.deadline import ADOPTION_SECONDS, Deadline
from tinkwell.provisioner.release.call.step import Permit, Result, StepRun
from tinkwell.provisioner.release.lifecycle.lifecycle import Lifecycle
from tinkwell.provisioner.release.place import Keys, Places
from tinkwell.provisioner.release.reporter import Reporter

# The longest and the shortest time after which the clock of the view is set.
LONGEST_SECONDS = 60.0
SHORTEST_SECONDS = 0.05


class Caller(Protocol):
    """Makes the calls of steps, and keeps their results."""

    async def call(self, run: StepRun, command: StartStep, permit: Permit) -> Outcome:
        """Make a call whose start the server has stored, and return its outcome."""


class Walk:
    """Walks one plan, from the stored view of it to the command that ends the operation.

    Steps become tasks of `group`. `run_of` makes an attempt; its argument says whether the attempt outlives this
    process. `began` has the start times of steps that a former owner left running, and `lifecycle` calls the handlers
    of events. With `only_looks` nothing is changed.
    """

    def __init__(
        self,
        view: OperationView,
        *,
        release_id: str,
        began: Callable[[StepKey], datetime | None],
        run_of: Callable[[RunKey, bool], StepRun],
        caller: Caller,
        lifecycle: Lifecycle,
        reporter: Reporter,
        lease: Keeper,
        places: Places,
        keys: Keys,
        group: asyncio.TaskGroup,
        only_looks: bool = False,
    ) -> None:
        self._view = view
        self._only_looks = only_looks
        self._seen_at = _now()
        self._release_id = release_id
        self._began = began
        self._run_of = run_of
        self._caller = caller
        self._lifecycle = lifecycle
        self._reporter = reporter
        self._lease = lease
        self._places = places
        self._keys = keys
        self._group = group
        self._has_changed = asyncio.Event()
        # Steps that may still run.
        self._running: dict[StepKey, StepRun] = {}
        # The attempts whose containers may still exist here, each with its task.
        self._tasks: dict[StepRun, asyncio.Task[None]] = {}
        self._stopping: set[StepKey] = set()
        # Events whose handlers run, and the events among them that are being stopped.
        self._emitting: dict[StepKey, asyncio.Task[None]] = {}
        self._silenced: set[StepKey] = set()
        # The attempts that hold a place, each with its concurrency key, which may be empty.
        self._holding: dict[StepRun, str] = {}

    @property
    def view(self) -> OperationView:
        """The operation as the walk knows it."""
        return self._view

    @property
    def runs(self) -> Sequence[StepRun]:
        """The attempts whose containers may still exist here."""
        return list(self._tasks)

    def hear(self, operation: Operation) -> None:
        """Take over a cancellation from the operation as the server has sent it.

        A second cancellation may shorten the time that is left, and never extends it.
        """
        if not operation.cancel_requested:
            return
        self._tick()
        grace, left = float(operation.cancel_grace_seconds), self._view.cancel_seconds
        if left is None or grace < left:
            self._view = replace(self._view, cancel_seconds=grace)
            self._has_changed.set()

    def leave(self) -> None:
        """Give back all places and keys, once no attempt of the operation is watched here."""
        for run in list(self._holding):
            self._let_go(run)
        self._keys.leave(self._view.id)

    async def run(self) -> Finish:
        """Walk to the end of the plan, and return how the operation ends; no attempt of it runs here afterwards."""
        self._keys.enter(self._view.id, self._has_changed.set)
        try:
            while True:
                self._has_changed.clear()
                ending, seconds = self._go_on()
                if ending is not None:
                    break
                await self._rest(seconds)
            if self._tasks:
                await asyncio.wait(self._tasks.values())
            return ending
        finally:
            self._places.leave(self._view.id)

    async def _rest(self, seconds: float) -> None:
        """Wait for a change, for at most `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._has_changed.wait()
        except TimeoutError:
            return

    def _go_on(self) -> tuple[Finish | None, float]:
        """Carry out the commands of this moment; return how the operation ends, if it does, and the seconds to wait."""
        self._tick()
        lacks_place = False
        while True:
            view = replace(self._view, busy_keys=self._keys.busy(self._view.id))
            has_moved, seconds = False, LONGEST_SECONDS
            rule = preview.decide if self._only_looks else decide
            for command in rule(view, {*self._running, *self._emitting}):
                match command:
                    case Finish():
                        return command, 0.0
                    case Wait(seconds=None):
                        continue
                    case Wait(seconds=float(wait)):
                        seconds = min(seconds, max(wait, SHORTEST_SECONDS))
                    case MoveNode() if self._needs_place(command) and not self._places.has(view.id):
                        lacks_place = True
                    case StartStep() if not self._places.take(view.id):
                        lacks_place = True
                    case _:
                        has_moved |= self._obey(command)
            if not has_moved:
                break
        if lacks_place:
            self._places.wait(view.id, self._has_changed.set)
        else:
            self._places.leave(view.id)
        remaining = self._view.remaining_seconds
        return None, min(seconds, remaining) if remaining > 0 else seconds

    def _needs_place(self, command: MoveNode) -> bool:
        """Whether a node begins that makes calls; nodes of charts and events make none."""
        return command.state in BEGUN and self._view.nodes[command.path].has_calls

    def _obey(self, command: Command) -> bool:
        """Begin to carry a command out; return False if that had begun before."""
        match command:
            case StartStep():
                self._start(command)
            case AdoptStep():
                self._adopt(command)
            case StopStep():
                return self._stop(command)
            case MoveNode():
                _ = self._settle(outcome.move(self._view, command))
            case Emit(path=path):
                self._emit(path)
            case StopEmit(path=path):
                return self._silence(path)
            case MovePhase(phase=phase):
                _ = self._settle(Settled(replace(self._view, phase=phase), (PhaseReport(phase),)))
            case Finish() | Wait():
                raise AssertionError("it is no such command")
            case _:
                assert_never(command)
        return True

    def _start(self, command: StartStep) -> None:
        """Begin an attempt; the caller has made sure that there is a place for it."""
        begun = outcome.start(self._view, command)
        is_unbroken = self._lease.unbroken()
        stored = self._settle(begun)
        run = self._run_of(self._key(command.step, command.attempt), command.kind.has_effects)

        async def permit() -> Callable[[], bool]:
            # A provisioner that was suspended for longer than its lease may have lost the operation, and finds out
            # here.
            nonlocal is_unbroken
            while not is_unbroken():
                await self._lease.until_good()
                is_unbroken = self._lease.unbroken()
                await self._reporter.post(begun.reports)
            return is_unbroken

        async def call() -> Outcome:
            await stored
            return await self._caller.call(run, command, permit)

        self._begin(command.step, run, call)

    def _adopt(self, command: AdoptStep) -> None:
        """Watch an attempt that a former owner left running; it runs already, so it does not wait for a place."""
        run = self._run_of(self._key(command.step, command.attempt), True)
        limit = _limit(self._began(command.step), command.timeout_seconds)

        async def adopt() -> Outcome:
            return _outcome(await run.adopt(limit))

        self._places.force()
        self._begin(command.step, run, adopt)

    def _stop(self, command: StopStep) -> bool:
        """Stop a step, of which there may be no attempt here although the server has it as RUNNING."""
        key, step = command.step, self._view.step(command.step)
        if key in self._stopping:
            return False
        if step.state is State.PENDING:
            _ = self._settle(outcome.end(self._view, key, Outcome(state=command.state, message=command.reason)))
            return True
        self._stopping.add(key)
        run = self._running.get(key)
        if run is not None:
            run.stop(command.state, command.reason)
            return True
        run = self._run_of(self._key(key, step.attempt), False)
        run.stop(command.state, command.reason)

        async def stop() -> Outcome:
            return _outcome(await run.adopt(Deadline(None)))

        self._places.force()
        self._begin(key, run, stop)
        return True

    def _emit(self, path: str) -> None:
        """Begin to call the handlers of an event, which needs no place."""
        self._emitting[event_key(path)] = self._group.create_task(self._hear_out(path), name=f"event {path}")

    async def _hear_out(self, path: str) -> None:
        """Call the handlers of an event, and report the result; an event that was stopped is not reported."""
        key, (chart, event) = event_key(path), split_event(path)
        try:
            emitted = await self._lifecycle.emit(chart, event)
        except asyncio.CancelledError:
            if key not in self._silenced:
                raise
        else:
            self._tick()
            _ = self._settle(outcome.emitted(self._view, path, emitted.report()))
        del self._emitting[key]
        self._has_changed.set()

    def _silence(self, path: str) -> bool:
        """Stop the handlers of an event."""
        key = event_key(path)
        if key in self._silenced:
            return False
        self._silenced.add(key)
        return self._emitting[key].cancel()

    def _begin(self, key: StepKey, run: StepRun, work: Callable[[], Awaitable[Outcome]]) -> None:
        node, has_effects = self._view.nodes[key.path], self._view.step(key).kind.has_effects
        concurrency_key = node.settings.concurrency_key if has_effects else ""
        self._keys.use(self._view.id, concurrency_key)
        self._holding[run] = concurrency_key
        self._running[key] = run
        self._tasks[run] = self._group.create_task(
            self._see_through(key, run, work), name=f"step {key.path}/{key.ordinal}"
        )

    async def _see_through(self, key: StepKey, run: StepRun, work: Callable[[], Awaitable[Outcome]]) -> None:
        """Bring a step to its end, report the end, and remove the container once the server has stored the report."""
        ended = await work()
        self._let_go(run)
        self._tick()
        settled = outcome.end(self._view, key, ended)
        stored = self._settle(preview.without_actions(settled, key.path) if self._only_looks else settled)
        del self._running[key]
        self._stopping.discard(key)
        self._has_changed.set()
        await stored
        await run.clear()
        del self._tasks[run]

    def _let_go(self, run: StepRun) -> None:
        """Give back the place and the key of an attempt whose container has ended."""
        self._places.free()
        self._keys.free(self._view.id, self._holding.pop(run))

    def _settle(self, settled: Settled) -> "asyncio.Future[None]":
        """Replace the view, and post reports of the changes."""
        self._view = settled.view
        return self._reporter.post(settled.reports)

    def _tick(self) -> None:
        """Advance the clock of the view by the time that has passed here."""
        now = _now()
        if now - self._seen_at >= SHORTEST_SECONDS:
            self._view = self._view.after(now - self._seen_at)
            self._seen_at = now

    def _key(self, step: StepKey, attempt: int) -> RunKey:
        run = step_id(self._view.id, step.path, step.ordinal)
        return RunKey(RunKind.RELEASE, self._release_id, run, attempt)


def _outcome(result: Result) -> Outcome:
    return Outcome(state=result.state, exit_code=result.exit_code, message=result.message)


def _limit(began: datetime | None, timeout_seconds: int) -> Deadline:
    """Return the deadline of an adopted call, which has used a part of its time already."""
    elapsed = 0.0 if began is None else (datetime.now(UTC) - began).total_seconds()
    is_over = elapsed >= timeout_seconds
    left = max(timeout_seconds - elapsed, ADOPTION_SECONDS)
    return Deadline(left, passed_limit_seconds=float(timeout_seconds) if is_over else None)


def _now() -> float:
    return asyncio.get_running_loop().time()
