"""A server in memory, behind the calls that a provisioner makes. It decides by the rules of the real one."""

import asyncio
import collections
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from unit.provisioner import fake_lease

from tinkwell.client import errors
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, Expired, LogLine, Report, Reported, Unfinished, WorkflowContext
from tinkwell.core import errors as core_errors
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.lease import lease
from tinkwell.core.workflow import transition
from tinkwell.core.workflow.hold import is_vacant

# The slot of the provisioner that calls.
CALLER: ContextVar[int] = ContextVar("caller", default=-1)

Rows: TypeAlias = list[Action]
Rules: TypeAlias = list[transition.Action]


class FakeServer:
    """Keeps workflows. `is_away` makes every call fail as a lost connection does."""

    def __init__(self) -> None:
        self.workflows: dict[str, State] = {}
        self.born: dict[str, datetime] = {}
        self.rows: dict[str, Rows] = {}
        self.remaining: dict[str, float] = {}
        self.workflow_remaining: dict[str, float] = {}
        # When an action's next attempt is due, by the loop's clock; a second of its delay lasts a tenth of one here.
        self.due: dict[str, float] = {}
        self.lines: dict[str, list[LogLine]] = {}
        self.batches: list[int] = []
        self.reports: list[tuple[str, State]] = []
        # Calls that carried several of them.
        self.together: list[list[tuple[str, State]]] = []
        self.refused_starts: list[str] = []
        # A workflow that another provisioner starts just before the next report comes.
        self.steals_machine_for = ""
        self.calls = 0
        self.lists = 0
        self.looks: collections.Counter[str] = collections.Counter()
        self.is_away = False
        # The provisioners whose calls do not come through, by their slots.
        self.cut: set[int] = set()
        self.takes_logs = asyncio.Event()
        self.takes_logs.set()
        # A report whose answer is lost is taken all the same.
        self.loses_answers = 0
        self.leases = fake_lease.FakeLeases(self._answer)
        self._revision = itertools.count(1)
        self._watchers: list[asyncio.Queue[Event | None]] = []

    # What a test does to it.

    def add_workflow(self, workflow_id: str, *actions: Action) -> None:
        """Add a workflow; each action is named after its index."""
        self.workflows[workflow_id] = State.PENDING
        self.born[workflow_id] = datetime.fromtimestamp(len(self.born), UTC)
        self.rows[workflow_id] = [
            replace(action, id=f"{workflow_id}-{index}", workflow_id=workflow_id, index=index)
            for index, action in enumerate(actions)
        ]
        data = {"id": workflow_id, "state": "PENDING", "total_actions": len(actions)}
        data["created_at"] = self.born[workflow_id].isoformat()
        self.notify(workflow_id, EventType.CREATED, data=data, version=1)
        for action in self.rows[workflow_id]:
            self._tell(EventType.CREATED, ResourceType.ACTION, action.id, workflow_id, 1, action.to_json())

    def cancel(self, workflow_id: str) -> None:
        self._apply(workflow_id, transition.cancel(self._workflow(workflow_id), self._rules(workflow_id), "enough"))

    def delete(self, workflow_id: str) -> None:
        del self.workflows[workflow_id], self.rows[workflow_id]
        self.leases.end(workflow_id)
        self.notify(workflow_id, EventType.DELETED)

    def notify(
        self, workflow_id: str, event_type: EventType, *, data: dict[str, Any] | None = None, version: int = 2
    ) -> None:
        """Send an event of a workflow to every watcher."""
        self._tell(event_type, ResourceType.WORKFLOW, workflow_id, "", version, data or {})

    def _tell(
        self, event_type: EventType, kind: ResourceType, id_: str, parent_id: str, version: int, data: dict[str, Any]
    ) -> None:
        name = event_type.value.lower()
        event = Event("e", next(self._revision), kind, event_type, name, id_, parent_id, version, data=data)
        for watcher in self._watchers:
            watcher.put_nowait(event)

    def lose_history(self) -> None:
        """End every watch with the news that events were missed."""
        for watcher in self._watchers:
            watcher.put_nowait(None)

    def states(self, workflow_id: str) -> list[State]:
        return [action.state for action in self.rows[workflow_id]]

    def texts(self, action_id: str) -> list[str]:
        return [line.text for line in self.lines.get(action_id, [])]

    # What a provisioner asks of it.

    async def unfinished(self) -> AsyncIterator[Unfinished]:
        await self._answer()
        self.lists += 1
        yield Unfinished(running_ids=self._in(State.RUNNING), pending_ids=self._in(State.PENDING))

    async def context(self, id: str, *, with_actions: bool) -> WorkflowContext:  # noqa: A002
        assert with_actions
        await self._answer()
        self.looks[id] += 1
        if id not in self.workflows:
            raise errors.NotFound
        holds = self.leases.ledger.holds_of(id)
        context = WorkflowContext(id, workflow_state=self.workflows[id], created_at=self.born[id], holds=holds)
        context = replace(context, actions=self._actions(id))
        if self.workflows[id] is State.PENDING and (held := self._holder(id)):
            context = replace(context, waits_for_worker=held.worker_id, waits_for_workflow=held.workflow_id)
        return context

    def _actions(self, workflow_id: str) -> tuple[Action, ...]:
        return tuple(
            replace(action, remaining_seconds=self.remaining.get(action.id), wait_seconds=self._wait(action.id))
            for action in self.rows[workflow_id]
        )

    async def report(
        self,
        workflow_id: str,
        *,
        action_id: str,
        worker_id: str,
        state: State,
        attempt: int,
        seconds: float,
        message: str,
        exit_code: int | None,
        lease_token: int = 0,
    ) -> Reported:
        await self._answer()
        if workflow_id not in self.workflows:
            raise errors.NotFound
        if stolen_for := self.steals_machine_for:
            self.steals_machine_for = ""
            self.workflows[stolen_for] = State.RUNNING
        heard = transition.Report(
            action_id=action_id, worker_id=worker_id, state=state, attempt=attempt, message=message, exit_code=exit_code
        )
        try:
            changes = transition.report(self._workflow(workflow_id), self._rules(workflow_id), heard)
        except core_errors.IllegalTransition as error:
            raise errors.IllegalTransition(str(error)) from error
        if transition.StartWorkflow() in changes.steps and (held := self._holder(workflow_id)):
            self.refused_starts.append(workflow_id)
            raise errors.MachineBusy(f"workflow {held.workflow_id} runs on machine {held.worker_id}")
        action = next(action for action in self._rules(workflow_id) if action.id == action_id)
        self._fence(workflow_id, action, changes, self.leases.ledger.reporter(lease_token))
        if changes.steps:
            self.reports.append((action_id, state))
        self._apply(workflow_id, changes)
        if self.loses_answers:
            self.loses_answers -= 1
            raise errors.Unavailable
        after = transition.state_after(action, changes)
        return Reported(1 if changes.steps else 0, changes.attempt, self.remaining.get(action_id), after)

    async def report_together(self, reports: Sequence[Report]) -> Sequence[Reported | errors.Error]:
        self.together.append([(report.action_id, State(report.state)) for report in reports])
        return [await self._outcome(report) for report in reports]

    async def expire(self, id: str, *, deadlines_only: bool = False) -> Expired:  # noqa: A002
        await self._answer()
        if id not in self.workflows:
            raise errors.NotFound
        flow, actions = self._workflow(id), self._rules(id)
        if deadlines_only:
            actions = [replace(action, is_lost=False) for action in actions]
        changes = transition.expire(flow, actions)
        if flow.state.is_final:
            self.leases.clear_dead(id)
        self._apply(id, changes)
        left = None if changes.steps else transition.remaining_seconds(flow, actions)
        return Expired(1 if changes.steps else 0, left)

    async def append_logs(self, workflow_id: str, lines: Iterable[LogLine]) -> int:
        batch = list(lines)
        await self.takes_logs.wait()
        await self._answer()
        if workflow_id not in self.workflows:
            raise errors.NotFound
        self.batches.append(len(batch))
        for line in batch:
            known = self.lines.setdefault(line.action_id, [])
            if all((line.attempt, line.number) != (other.attempt, other.number) for other in known):
                known.append(line)
        return len(batch)

    @asynccontextmanager
    async def watch(
        self, *, now: bool, event_types: Collection[EventType], on_created: Callable[[object], None]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        assert now
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._watchers.append(queue)
        on_created(self)
        try:
            yield _events(queue, event_types)
        finally:
            self._watchers.remove(queue)

    async def _outcome(self, report: Report) -> Reported | errors.Error:
        try:
            return await self.report(
                report.workflow_id,
                action_id=report.action_id,
                worker_id=report.worker_id,
                state=State(report.state),
                attempt=report.attempt,
                seconds=report.seconds,
                message=report.message,
                exit_code=report.exit_code,
                lease_token=report.lease_token,
            )
        except errors.Error as error:
            return error

    def _in(self, wanted: State) -> tuple[str, ...]:
        return tuple(workflow_id for workflow_id, state in self.workflows.items() if state is wanted)

    async def _answer(self) -> None:
        await asyncio.sleep(0)
        self.calls += 1
        if self.is_away or CALLER.get() in self.cut:
            raise errors.Unavailable

    def _fence(
        self, workflow_id: str, action: transition.Action, changes: transition.Changes, reporter: lease.Reporter
    ) -> None:
        """Hold a report against the hold of its machine, and give that to whom it belongs from now on."""
        leases, machine = self.leases, action.worker_id
        hold = leases.ledger.hold(workflow_id, machine)
        if changes.steps and action.state is State.PENDING:
            leases.judge(hold, reporter, machine, is_again=False)
            if transition.StartWorkflow() in changes.steps:
                leases.start(workflow_id, (row.worker_id for row in self.rows[workflow_id]))
            if reporter.token:
                leases.hold(workflow_id, machine, lease_id=reporter.lease_id, action_id=action.id)
        elif changes.steps:
            leases.check_end(hold, reporter)
            if is_vacant(action, changes.steps):
                leases.vacate(workflow_id, machine)
        elif action.state is State.RUNNING:
            match leases.judge(hold, reporter, machine, is_again=True):
                case lease.Verdict.ADOPTED:
                    leases.hold(workflow_id, machine, lease_id=reporter.lease_id, action_id=action.id)
                case lease.Verdict.LOST:
                    flow, actions = self._workflow(workflow_id), self._rules(workflow_id)
                    self._apply(workflow_id, transition.lose(flow, actions, action))
                    raise errors.IllegalTransition("it is lost")
                case _:
                    pass

    def _holder(self, workflow_id: str) -> Action | None:
        """Return an action of another workflow on a machine of this one, where it runs or has left something alive."""
        machines = {action.worker_id for action in self.rows[workflow_id]}
        others = (id_ for id_, state in self.workflows.items() if state is State.RUNNING and id_ != workflow_id)
        running = (row for id_ in others for row in self.rows[id_] if row.worker_id in machines)
        left = (
            Action("", worker_id=machine, workflow_id=id_)
            for id_, machine in self.leases.ledger.holds
            if id_ != workflow_id and machine in machines and self.leases.is_live(id_, machine)
        )
        return next(itertools.chain(running, left), None)

    def _wait(self, action_id: str) -> float | None:
        left = self.due.get(action_id, 0.0) - asyncio.get_running_loop().time()
        return left if left > 0 else None

    def _workflow(self, workflow_id: str) -> transition.Workflow:
        return transition.Workflow(
            id=workflow_id,
            state=self.workflows[workflow_id],
            remaining_seconds=self.workflow_remaining.get(workflow_id),
        )

    def _rules(self, workflow_id: str) -> Rules:
        found = [
            transition.Action(
                id=action.id,
                index=action.index,
                task_name=action.task_name,
                name=action.name,
                worker_id=action.worker_id,
                state=action.state,
                attempt=action.attempt,
                on_failure=action.on_failure,
                on_timeout=action.on_timeout,
                retries=action.retries,
                retry_delay_seconds=action.retry_delay_seconds,
            )
            for action in self.rows[workflow_id]
        ]
        return [replace(action, is_lost=self.leases.is_lost(workflow_id, action)) for action in found]

    def _apply(self, workflow_id: str, changes: transition.Changes) -> None:
        actions = self.rows[workflow_id]
        for step in changes.steps:
            match step:
                case transition.StartWorkflow():
                    self.workflows[workflow_id] = State.RUNNING
                case transition.EndWorkflow(state=state):
                    self.workflows[workflow_id] = state
                    self.leases.end(workflow_id)
                case transition.StartAction(action_id=action_id, attempt=attempt, message=message):
                    self._change(actions, action_id, state=State.RUNNING, attempt=attempt, message=message)
                case transition.EndAction(action_id=action_id, state=state, message=message, exit_code=exit_code):
                    self._change(actions, action_id, state=state, message=message, exit_code=exit_code)
                case transition.RetryAction(action_id=action_id, message=message, exit_code=exit_code):
                    self.due[action_id] = asyncio.get_running_loop().time() + step.delay_seconds / 10
                    self._change(actions, action_id, state=State.PENDING, message=message, exit_code=exit_code)
                    machine = next(row.worker_id for row in actions if row.id == action_id)
                    self.leases.vacate(workflow_id, machine)
                case transition.AdvanceWorkflow():
                    pass
            self.notify(workflow_id, _event_type(step))

    @staticmethod
    def _change(actions: Rows, action_id: str, **changes: Any) -> None:
        index = next(i for i, action in enumerate(actions) if action.id == action_id)
        actions[index] = replace(actions[index], **changes)


def _event_type(step: transition.Step) -> EventType:
    """Return what a step is told as; what the driver treats alike is not told apart."""
    match step:
        case transition.StartWorkflow():
            return EventType.WORKFLOW_STARTED
        case transition.StartAction():
            return EventType.ACTION_STARTED
        case transition.EndAction(state=State.SUCCEEDED):
            return EventType.ACTION_SUCCEEDED
        case transition.AdvanceWorkflow():
            return EventType.WORKFLOW_INPROGRESS
        case transition.EndWorkflow(state=State.SUCCEEDED):
            return EventType.WORKFLOW_SUCCEEDED
        case _:
            return EventType.UPDATED


async def _events(queue: "asyncio.Queue[Event | None]", event_types: Collection[EventType]) -> AsyncIterator[Event]:
    while (event := await queue.get()) is not None:
        if event.event_type in event_types:
            yield event
    raise errors.Compacted
