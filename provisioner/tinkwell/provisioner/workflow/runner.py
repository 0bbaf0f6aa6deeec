"""Runs what was decided about workflows: each action, hook and removal is a job beside those who look.

Theory of operation. Actions that may still run have places, of which there are `concurrency`; a workflow that would
start one more waits for a place. When an action succeeds, the workflow's next one follows in its place at once, without
a look, and the server is told of both by one call. It refuses the start where that is wrong.

What comes of a job gets back to those who look as ids in the set of what is to be looked at, and as the runs in the
roster. Nothing here waits for a look.
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

# So many workflows wait for a place; what is beyond that is found by a later list.
MAX_WAITING = 10_000
# What has ended has no place any more while it is reported and cleared up. It must not pile up, though: there may be
# so many times as many jobs as places.
MOST_JOBS = 3


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt at an action of a workflow, whose actions are known by their ids. One that follows was not decided."""

    key: RunKey
    actions: Mapping[str, Action]
    follows: bool = False

    @property
    def action(self) -> Action:
        return self.actions[self.key.run]

    @property
    def before(self) -> Action | None:
        """The action before this one, as it was when it was decided to begin; None where this one is the first."""
        return next((each for each in self.actions.values() if each.index == self.action.index - 1), None)

    @property
    def following(self) -> "_Attempt | None":
        """The first attempt at the next action; None where this action is the last."""
        for each in self.actions.values():
            if each.index == self.action.index + 1:
                key = RunKey(RunKind.WORKFLOW, self.key.owner, each.id, each.attempt + 1)
                return _Attempt(key, self.actions, follows=True)
        return None


@dataclass(kw_only=True, slots=True, eq=False)
class Runner:
    """Has jobs done by an agent. No public method awaits, so the jobs are still those that were decided upon."""

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
    # Runs of whose workflows events were left aside, because the runs account for them.
    _missed: set[RunKey] = field(default_factory=set)

    def start(self, key: RunKey, actions: Mapping[str, Action]) -> None:
        """Start an action, or have its workflow wait for a place."""
        if self._has_room:
            self._begin_action(_Attempt(key, actions))
        elif len(self._waiting) < MAX_WAITING:
            self._waiting[key.owner] = None

    def adopt(self, key: RunKey, actions: Mapping[str, Action]) -> None:
        """Carry on with an action that the server believes to be running. It waits for no place: it runs already."""
        self._begin_action(_Attempt(key, actions), adopts=True)

    def run_hook(self, key: RunKey, of: Action) -> None:
        """Run a hook, once nobody watches its attempt."""
        if (job := self.roster.jobs.get(key.main)) is not None:
            job.leave("the action has ended")
        else:
            self._begin_hook(key, of, is_first=False)

    def stop(self, key: RunKey, reason: str) -> None:
        """Kill a run and remove it, whether it is watched here or not."""
        if (job := self.roster.jobs.get(key)) is not None:
            job.stop(reason)
        else:
            job = Job(key, RunState.CLEARING, reason=reason)
            self._begin(job, lambda: self._clear(job))

    def stop_repeatable(self, reason: str) -> None:
        """Kill and remove all that others may start anew; the rest cannot be started twice, and goes on."""
        for job in self.roster.jobs.values():
            if job.may_repeat and job.state.is_watched:
                job.stop(reason)

    def expects(self, event: Event) -> bool:
        """Say whether a run that is under way accounts for a workflow's progress; its end leads to a look."""
        has_succeeded = event.event_type is EventType.WORKFLOW_SUCCEEDED
        if not has_succeeded and event.event_type not in event_filter.PROGRESS:
            return False
        jobs = self.roster.jobs.of(event_filter.workflow_of(event)).values()
        watched = [job for job in jobs if job.state.is_watched]
        busy = [job.key for job in watched if job.state is RunState.REPORTING or not has_succeeded]
        self._missed.update(busy)
        return bool(busy)

    def is_waiting(self, workflow_id: str) -> bool:
        """Say whether a workflow waits for a place."""
        return workflow_id in self._waiting

    def take_waiting(self) -> list[str]:
        """Take one that waits, if there is one and there is room; who looks takes the next, should it need none."""
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
        """Begin a hook. It waits for no place: it follows on a job that had one."""
        job = Job(key, RunState.RUNNING)
        self._begin(job, lambda: self._hook(job, of, is_first=is_first))

    def _begin(self, job: Job, work: Callable[[], Awaitable[bool]]) -> bool:
        """Begin a job, unless there is one of its key; say whether it was begun."""
        if job.key in self.roster.jobs:
            self._missed.add(job.key)
            return False
        task = self._see_through(job, work)
        try:
            self.group.create_task(task, name=f"job {job.key.run}")
        except RuntimeError:
            # Everything stops; only what is granted some last seconds still comes here, and goes on to its end.
            task.close()
            return False
        self.roster.begin(job)
        return True

    async def _see_through(self, job: Job, work: Callable[[], Awaitable[bool]]) -> None:
        """Do a job, then look at its workflow again, and at one that has waited for its place."""
        looks_again = False
        try:
            looks_again = await work()
        except Exception:
            # One broken action must not take the others down. What it left is found by the next list.
            logger.exception("a job failed", extra={"workflow": job.key.owner, "action": job.key.run})
        finally:
            self.roster.end(job)
            self._missed.discard(job.key)
        for workflow_id in [*self.take_waiting(), *([job.key.owner] if looks_again else [])]:
            await self.later.put(workflow_id)

    async def _run(self, job: Job, attempt: _Attempt, teller: action.ActionReporter, *, adopts: bool) -> bool:
        """Carry out an action, and say whether its workflow is to be looked at again."""
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
            # One that was stopped before it could wait for its start must not be begun any more.
            teller.hear(None)
        await self.agent.clear(job)
        if job.state is RunState.REFUSED:
            return self._note_refusal(job, attempt)
        if job.receipt is None:
            return job.state is not RunState.STUCK  # which is not tried again at once; the next list leads back to it
        if job.receipt.hook and job.state is RunState.LEFT:
            self._begin_hook(replace(attempt.key, hook=job.receipt.hook), attempt.action, is_first=True)
        if follower is not None and (follower.state.is_watched or follower.receipt is not None):
            return False  # its end leads to a look; that of one which was stopped has led to one that came too early
        if job.receipt.has_succeeded and attempt.following is None:
            self.told.hear_of_success(attempt.key.owner)
        return True

    def _note_refusal(self, job: Job, attempt: _Attempt) -> bool:
        """Let others have the machines; what was refused after a look would be refused again at once."""
        self.later.wake(self.admission.refuse(attempt.key.owner))
        is_blocked = job.refusal is not None and job.refusal.is_blocked
        return is_blocked or attempt.follows or job.key in self._missed

    def _follow(self, attempt: _Attempt, teller: action.ActionReporter) -> tuple[Job | None, action.ActionReporter]:
        """Begin the action after one that has succeeded, if it has its turn; what is returned then tells of both."""
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
        """Remove what a stop has left; where that fails, the next list leads back to it."""
        await self.agent.clear(job)
        return job.state is not RunState.STUCK

    def _work(self, key: RunKey, of: Action) -> run_spec.Work:
        return action.work_of(key, of, self.runtime, self.files)

    def _teller(self, key: RunKey, of: Action, *, before: Action | None = None) -> action.ActionReporter:
        document = shared_document.SharedDocument(self.documents, self.files, key, of, before=before)
        return action.ActionReporter(self.api, self.lease, key, of, document)
