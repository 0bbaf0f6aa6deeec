"""Carries out what was decided about workflows: each action, hook and removal is a job, a task beside the lookers.

Theory of operation. Each action that may still run takes a place, and there are `concurrency` places; a workflow that
would start one more waits for a place. When an action succeeds, the workflow's next action begins at once in the same
place, without a look, and one call tells the server of both. If that is wrong, the server refuses the start.

When a job ends, it updates the roster of runs and has its workflow looked at again. No job waits for a look.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field, replace

from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent import agent, run_spec
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.agent.run_state import RunState
from tinkwell.provisioner.queue import delay_queue
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow import (
    action,
    admission,
    event_filter,
    event_snapshot,
    reporter,
    run_registry,
    shared_document,
    workflow_folder,
)

logger = logging.getLogger(__name__)

# At most this many workflows wait for a place; a later list finds the others.
MAX_WAITING = 10_000
# A job whose action has succeeded frees its place before its run is removed. So that such jobs do not pile up, the
# number of jobs is limited to this many times the number of places.
MOST_JOBS = 3


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at an action. `actions` maps ids to the workflow's actions.

    `follows` is True if it began because the action before it succeeded, and not because of a look.
    """

    key: RunKey
    actions: Mapping[str, Action]
    follows: bool = False

    @property
    def action(self) -> Action:
        return self.actions[self.key.run]

    @property
    def before(self) -> Action | None:
        """The action before this one, as the last look saw it; None if this one is the first."""
        return next((each for each in self.actions.values() if each.index == self.action.index - 1), None)

    @property
    def following(self) -> "_Attempt | None":
        """The next attempt at the next action; None if this action is the last."""
        for each in self.actions.values():
            if each.index == self.action.index + 1:
                key = RunKey(RunKind.WORKFLOW, self.key.owner, each.id, each.attempt + 1)
                return _Attempt(key, self.actions, follows=True)
        return None


@dataclass(kw_only=True, slots=True, eq=False)
class Runner:
    """Has jobs done by an agent. No public method awaits, so the jobs are still those that the decision is about."""

    agent: agent.Agent
    runtime: port.Runtime
    files: workflow_folder.Files
    api: reporter.Reporter
    documents: shared_document.DocumentApi
    lease: Keeper
    roster: run_registry.Roster
    admission: admission.Admission
    told: event_snapshot.Told
    later: delay_queue.Later
    serves: Container[str]
    concurrency: int
    group: asyncio.TaskGroup
    # Workflows that wait for a place.
    _waiting: OrderedDict[str, None] = field(default_factory=OrderedDict)
    # Runs because of which `expects` has dropped an event, or that were to begin while they had a job.
    _missed: set[RunKey] = field(default_factory=set)

    def start(self, key: RunKey, actions: Mapping[str, Action]) -> None:
        """Start an action; if no place is free, its workflow waits for one."""
        if self._has_room:
            self._begin_action(_Attempt(key, actions))
        elif len(self._waiting) < MAX_WAITING:
            self._waiting[key.owner] = None

    def adopt(self, key: RunKey, actions: Mapping[str, Action]) -> None:
        """Watch an action that the server says is running. It waits for no place, because it runs already."""
        self._begin_action(_Attempt(key, actions), adopts=True)

    def run_hook(self, key: RunKey, of: Action) -> None:
        """Run a hook. If its attempt still has a job, only end that job: the look after it leads here again."""
        if (job := self.roster.jobs.get(key.main)) is not None:
            job.leave("the action has ended")
        else:
            self._begin_hook(key, of, is_first=False)

    def stop(self, key: RunKey, reason: str) -> None:
        """Kill a run and remove it, also if no job watches it."""
        if (job := self.roster.jobs.get(key)) is not None:
            job.stop(reason)
        else:
            job = Job(key, RunState.CLEARING, reason=reason)
            self._begin(job, lambda: self._clear(job))

    def stop_repeatable(self, reason: str) -> None:
        """Kill and remove the runs of actions that may be attempted again; the others go on."""
        for job in self.roster.jobs.values():
            if job.may_repeat and job.state.is_watched:
                job.stop(reason)

    def expects(self, event: Event) -> bool:
        """Return whether a job here has caused the event, so that it needs no look: the end of the job leads to one."""
        has_succeeded = event.event_type is EventType.WORKFLOW_SUCCEEDED
        if not has_succeeded and event.event_type not in event_filter.PROGRESS:
            return False
        jobs = self.roster.jobs.of(event_filter.workflow_of(event)).values()
        watched = [job for job in jobs if job.state.is_watched]
        busy = [job.key for job in watched if job.state is RunState.REPORTING or not has_succeeded]
        self._missed.update(busy)
        return bool(busy)

    def is_waiting(self, workflow_id: str) -> bool:
        """Return whether a workflow waits for a place."""
        return workflow_id in self._waiting

    def take_waiting(self) -> list[str]:
        """Return the workflow that has waited longest if a place is free, else nothing.

        The workflow may turn out to need no place, so after its look this is called again.
        """
        return [self._waiting.popitem(last=False)[0]] if self._waiting and self._has_room else []

    @property
    def _has_room(self) -> bool:
        return self.roster.busy < self.concurrency and len(self.roster.jobs) < MOST_JOBS * self.concurrency

    def _begin_action(
        self, attempt: _Attempt, start: action.ActionReporter | None = None, *, adopts: bool = False
    ) -> Job | None:
        key, of = attempt.key, attempt.action
        job = Job(key, may_repeat=key.attempt <= of.retries and not of.reboots)
        told_by = start or self._teller(key, of, before=attempt.before)
        return job if self._begin(job, lambda: self._run(job, attempt, told_by, adopts=adopts)) else None

    def _begin_hook(self, key: RunKey, of: Action, *, is_first: bool) -> None:
        """Begin a hook. It waits for no place, because the job of its action had one."""
        job = Job(key, RunState.RUNNING)
        self._begin(job, lambda: self._hook(job, of, is_first=is_first))

    def _begin(self, job: Job, work: Callable[[], Awaitable[bool]]) -> bool:
        """Begin a job unless its run has one already; return whether it was begun."""
        if job.key in self.roster.jobs:
            self._missed.add(job.key)
            return False
        task = self._see_through(job, work)
        try:
            self.group.create_task(task, name=f"job {job.key.run}")
        except RuntimeError:
            # The task group refuses tasks during shutdown, when jobs in their last steps still come here.
            task.close()
            return False
        self.roster.begin(job)
        return True

    async def _see_through(self, job: Job, work: Callable[[], Awaitable[bool]]) -> None:
        """Do a job. Then have its workflow looked at again, and a workflow that has waited for a place."""
        looks_again = False
        try:
            looks_again = await work()
        except Exception:
            # A fault in one job must not stop the others. The next list finds the run that it may have left.
            logger.exception(
                "a job failed by an unexpected error; its workflow is looked at again when workflows are listed next",
                extra={"workflow": job.key.owner, "action": job.key.run},
            )
        finally:
            self.roster.end(job)
            self._missed.discard(job.key)
        for workflow_id in [*self.take_waiting(), *([job.key.owner] if looks_again else [])]:
            await self.later.put(workflow_id)

    async def _run(self, job: Job, attempt: _Attempt, teller: action.ActionReporter, *, adopts: bool) -> bool:
        """Carry out an action; return whether its workflow is to be looked at again."""
        work = replace(self._work(attempt.key, attempt.action), prepare=teller.document.bring)
        ending, follower = teller, None
        try:
            async with job.until_stopped(), asyncio.TaskGroup() as beside:
                ended = await self.agent.run(job, work, teller, beside, adopts=adopts)
                if ended is not None and job.state is RunState.REPORTING:
                    if ended.outcome.state is State.SUCCEEDED:
                        follower, ending = self._follow(attempt, teller)
                    await self.agent.conclude(job, ended, ending)
        finally:
            # If the job was stopped before it waited for the answer to its start, the start must not be reported.
            teller.hear(None)
        await self.agent.clear(job)
        if job.state is RunState.REFUSED:
            return self._note_refusal(job, attempt)
        if job.receipt is None:
            return job.state is not RunState.STUCK  # A stuck run is tried again after the next list, and not at once.
        if job.receipt.hook and job.state is RunState.LEFT:
            self._begin_hook(replace(attempt.key, hook=job.receipt.hook), attempt.action, is_first=True)
        if follower is not None and (follower.state.is_watched or follower.receipt is not None):
            return False  # The end of the follower leads to a look. A stopped follower's look would come too early.
        if job.receipt.has_succeeded and attempt.following is None:
            self.told.hear_of_success(attempt.key.owner)
        return True

    def _note_refusal(self, job: Job, attempt: _Attempt) -> bool:
        """Give up the workflow's turn on its machines; return whether it is to be looked at again.

        A start that followed a look would only be refused again, unless another workflow blocks it or an event was
        dropped.
        """
        self.later.wake(self.admission.refuse(attempt.key.owner))
        is_blocked = job.refusal is not None and job.refusal.is_blocked
        return is_blocked or attempt.follows or job.key in self._missed

    def _follow(self, attempt: _Attempt, teller: action.ActionReporter) -> tuple[Job | None, action.ActionReporter]:
        """Begin the action after one that has succeeded, if it is served here, has a place and no workflow waits.

        Returns its job, None if it was not begun, and the reporter for the end of `attempt`, which reports the start
        of the next action too if that was begun.
        """
        self.roster.placeless.add(attempt.key)
        following = attempt.following
        has_turn = self._has_room and not self._waiting
        if following is None or not has_turn or following.action.worker_id not in self.serves:
            return None, teller
        ahead = asyncio.get_running_loop().create_future()
        start = replace(self._teller(following.key, following.action, before=attempt.action), ahead=ahead)
        job = self._begin_action(following, start)
        return job, teller if job is None else replace(teller, following=start)

    async def _hook(self, job: Job, of: Action, *, is_first: bool) -> bool:
        async with job.until_stopped():
            work, teller = self._work(job.key, of), self._teller(job.key, of)
            await self.agent.run_hook(job, work, teller, is_first=is_first)
        return await self._clear(job)

    async def _clear(self, job: Job) -> bool:
        """Remove a run that must not go on; return False if that failed, and the next list leads to another try."""
        await self.agent.clear(job)
        return job.state is not RunState.STUCK

    def _work(self, key: RunKey, of: Action) -> run_spec.Work:
        return action.work_of(key, of, self.runtime, self.files)

    def _teller(self, key: RunKey, of: Action, *, before: Action | None = None) -> action.ActionReporter:
        document = shared_document.SharedDocument(self.documents, self.files, key, of, before=before)
        return action.ActionReporter(self.api, self.lease, key, of, document)
