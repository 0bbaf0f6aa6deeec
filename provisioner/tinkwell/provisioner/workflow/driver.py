"""Brings workflows to completion: looks at each that may need something, and obeys `core.decide`.

Theory of operation.

    watch ──┐
    list  ──┼─▶ dirty ids ─▶ lookers ─▶ decide(what the server says, what runs here) ─▶ jobs ─▶ agent
    jobs  ──┘      ▲                                                                     │
                   └─────────────────────────────────────────────────────────────────────┘

An event says only that its workflow is worth a look; what is to be done follows from the look alone. So events may be
lost, doubled or late, and nothing is kept here that a restart would miss. Where events tell as much as a look would,
they are one; see `told`. All unfinished workflows are listed whenever
a watch begins, and from time to time in case some other way of noticing has failed; `survey` says which of them are
then looked at.

A workflow is looked at by one looker at a time, so its commands are given in order. While an action runs here, the
progress of its workflow is its own, and no news; and when it has succeeded, the next one begins in its place at once,
if it is to run here, too: the server is told of both by one call, and refuses the start where that is wrong. A look
ends without waiting for what it began: jobs run beside it, at most `concurrency` of them; a workflow whose turn would
be one more waits, by its id, until a job has ended. Adopted runs count but never wait, because they run already. A
workflow that may not start because another one runs on its machine waits as well, until that one has ended; see `turn`.

Any number of provisioners may serve the same workers. What one of them runs it holds under its lease, see `lease`, and
the others leave it alone until that is over. Then one that has the run at hand takes it over; where nobody does so in
time, the server is asked to give it up for lost. A machine on which something was stopped without its own report is
released when nothing is left there, be it by a successor.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Container, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import NoReturn, Protocol, assert_never

from tinkwell.client import errors
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, Unfinished
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.workflow import decide
from tinkwell.core.workflow.decide import RunKey
from tinkwell.provisioner.agent import agent
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.lease import keeper as lease
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.queue import delay_queue, recent_set, retry, work_queue
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow import (
    admission,
    event_filter,
    event_snapshot,
    expiry,
    reporter,
    resync,
    run_registry,
    slot,
    snapshot,
    workflow_folder,
)

logger = logging.getLogger(__name__)

LOOKERS = 8
MAX_DIRTY = 1000
# So many workflows are remembered as having no worker that is served here; a forgotten one costs a look.
MAX_FOREIGN = 10_000


class WorkflowApi(reporter.ReportsApi, expiry.ExpiryApi, snapshot.LookApi, Protocol):
    """What bringing workflows to completion needs of the server."""

    def unfinished(self) -> AsyncIterator[Unfinished]:
        """Iterate over the ids of the workflows that are not finished, many at a time."""

    def watch(
        self, *, now: bool, event_types: Collection[EventType], on_created: Callable[[object], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Watch events of workflows and actions; calls back each time a connection is live."""


class Driver:
    """Does what the workflows of the workers it serves need, until it is cancelled. Their runs outlive it."""

    def __init__(
        self,
        api: WorkflowApi,
        runtime: port.Runtime,
        files: workflow_folder.Files,
        *,
        keeper: lease.Keeper,
        claims: run_claim.Claims,
        serves: Container[str],
        concurrency: int,
        resync_seconds: float = 30.0,
    ) -> None:
        self._api = api
        self._files = files
        self._keeper = keeper
        self._claims = claims
        self._reporter = reporter.Reporter(api)
        self._agent = agent.Agent(self._reporter, runtime, files, lease=keeper, claims=claims)
        self._serves = serves
        self._resync_seconds = resync_seconds
        self._expiry = expiry.Expiry(api)
        self._dirty = work_queue.DirtySet(MAX_DIRTY)
        self._relist = asyncio.Event()
        self._roster = run_registry.Roster(runtime, claims)
        self._survey = resync.Survey(self._roster)
        # Of these something was begun here, or by a predecessor; each only until it is looked at after that.
        self._begun: set[str] = set()
        self._told = event_snapshot.Told(keeper)
        self._places = slot.Places(self._roster, concurrency)
        self._admission = admission.Admission()
        self._foreign = recent_set.RecentSet(MAX_FOREIGN)
        self._group = asyncio.TaskGroup()
        self._later = delay_queue.Later(self._dirty, self._group)

    async def run(self) -> NoReturn:
        """Work until cancelled, which leaves running what runs; raises an `errors.Error` that cannot be mended."""
        async with self._group as group:
            group.create_task(self._watch(), name="watch")
            group.create_task(self._expiry.run(), name="expiry")
            group.create_task(self._keeper.run(self), name="keeper")
            group.create_task(self._reporter.run(), name="reports")
            group.create_task(self._list_again_and_again(), name="list")
            for number in range(LOOKERS):
                group.create_task(self._look_at_dirty(), name=f"looker {number}")
        raise AssertionError("its tasks never end by themselves")

    def inherit(self, workflow_ids: Iterable[str]) -> None:
        """Look at workflows that are held under the lease from its beginning, once it is known what is here."""
        self._begun.update(workflow_ids)
        self._relist.set()

    def hear_of_lost(self, workflow_ids: Iterable[str]) -> None:
        """Take over what a dead owner has left here, and see to it that the rest is given up for lost."""
        lost = list(workflow_ids)
        for workflow_id in lost:
            self._expiry.lose(workflow_id, after_seconds=self._keeper.grace_seconds)
        self._group.create_task(self._find_lost(lost), name="find lost")

    def lose(self) -> None:
        """Stop what others may start anew, since the lease is over; the rest cannot be started twice, and goes on."""
        for key, job in self._roster.jobs.items():
            may_repeat = key.attempt <= job.action.retries and not (key.hook or job.action.reboots)
            if may_repeat and not job.is_settled:
                job.stop("the lease is over, and another attempt may begin elsewhere")

    async def _find_lost(self, workflow_ids: list[str]) -> None:
        await self._roster.find()
        for workflow_id in workflow_ids:
            if workflow_id not in self._foreign or self._roster.has(workflow_id):
                await self._dirty.put(workflow_id)

    async def _watch(self) -> None:
        """Mark the workflow of every event as dirty."""
        while True:
            try:
                watch = self._api.watch(now=True, event_types=event_filter.WANTED, on_created=self._watch_is_live)
                async with watch as events:
                    async for event in events:
                        self._expiry.hear(event)
                        await self._hear(event)
            except errors.HistoryGone as error:
                logger.warning("events were missed; all workflows are listed", extra={"cause": str(error)})
                self._expiry.forget()
                self._told.forget()

    async def _hear(self, event: Event) -> None:
        workflow_id = event_filter.workflow_of(event)
        if self._is_worth_a_look(workflow_id) and not self._is_expected(event) and self._told.hear(event):
            await self._dirty.put(workflow_id)

    def _is_expected(self, event: Event) -> bool:
        """Say whether a job that is under way here accounts for a workflow's progress; its end leads to a look."""
        has_succeeded = event.event_type is EventType.WORKFLOW_SUCCEEDED
        if not has_succeeded and event.event_type not in event_filter.PROGRESS:
            return False
        jobs = self._roster.jobs.of(event_filter.workflow_of(event)).values()
        busy = [job for job in jobs if not job.is_settled and (job.is_reporting_end or not has_succeeded)]
        for job in busy:
            job.has_missed = True
        return bool(busy)

    def _watch_is_live(self, _: object) -> None:
        logger.info("workflows are watched")
        self._relist.set()

    async def _list_again_and_again(self) -> None:
        for workflow_id in await asyncio.to_thread(self._files.workflows):
            await self._dirty.put(workflow_id)
        while True:
            try:
                async with asyncio.timeout(self._resync_seconds):
                    await self._relist.wait()
            except TimeoutError:
                logger.debug("workflows are listed to be sure")
            self._survey.begin(trusts=not self._relist.is_set())
            self._relist.clear()
            await self._roster.find()
            here = {*self._roster.workflow_ids, *self._begun}
            well = set(filter(self._survey.is_well, here))
            for workflow_id in here - well:
                await self._dirty.put(workflow_id)
            await retry.until_answered(self._list, what="list workflows")
            for workflow_id in self._survey.end({*well, *self._admission.holders()}):
                await self._dirty.put(workflow_id)

    async def _list(self) -> None:
        async for some in self._api.unfinished():
            for workflow_id in some.running_ids:
                self._expiry.find(workflow_id)
                if not self._survey.find(workflow_id):
                    await self._note(workflow_id)
            for workflow_id in some.pending_ids:
                # Whose turn is still to come depends on another one alone.
                if not self._places.is_waiting(workflow_id) and not self._admission.is_waiting(workflow_id):
                    await self._note(workflow_id)

    async def _note(self, workflow_id: str) -> None:
        if self._is_worth_a_look(workflow_id):
            await self._dirty.put(workflow_id)

    def _is_worth_a_look(self, workflow_id: str) -> bool:
        is_foreign = workflow_id in self._foreign and not self._roster.has(workflow_id)
        return bool(workflow_id) and (not is_foreign or self._admission.is_holder(workflow_id))

    async def _look_at_dirty(self) -> None:
        await self._keeper.token()  # before that, everything would seem to be somebody else's
        while True:
            workflow_id = await self._dirty.take()
            try:
                await self._look_at(workflow_id)
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                # One that the server fails on must not keep a looker; the next list leads back to it.
                logger.warning("a workflow cannot be had", extra={"workflow": workflow_id, "cause": str(error)})
            await self._dirty.done(workflow_id)
            self._wake(dict.fromkeys(self._places.take(), 0.0))

    async def _look_at(self, workflow_id: str) -> None:
        """Find out what a workflow needs and see to it."""
        self._survey.forget(workflow_id)
        seen = await self._see(workflow_id)
        view = seen.view
        if view.actions and not any(action.worker_id in self._serves for action in view.actions):
            self._foreign.add(workflow_id)  # a workflow's actions never change, so this stays true
        commands = decide.decide(
            view,
            serves=self._serves,
            running=self._roster.running(workflow_id),
            leftover=self._roster.leftover(workflow_id),
            others=self._roster.others(workflow_id),
        )
        self._survey.note(workflow_id, commands)
        has_turn, woken = self._admission.admit(seen, commands)
        self._wake(woken)
        if has_turn:
            for command in commands:
                self._obey(command, seen.actions)
        if self._roster.has(workflow_id):
            return
        if not view.is_owed:
            self._begun.discard(workflow_id)
        if view.state is State.SUCCEEDED or not view.actions:
            await asyncio.to_thread(workflow_folder.forget, self._files, self._claims, workflow_id)

    async def _see(self, workflow_id: str) -> snapshot.Seen:
        known = self._told.take(workflow_id)
        # How it began says nothing any more once something of it was begun here.
        if known is not None and (known.view.state.is_final or workflow_id not in self._begun):
            return known
        return await retry.until_answered(
            lambda: snapshot.see(self._api, workflow_id, lease=self._keeper, was_begun=workflow_id in self._begun),
            what="get a workflow",
            gives_up=(errors.Internal,),
        )

    def _wake(self, workflow_ids: Mapping[str, float]) -> None:
        """Look at workflows in so many seconds. There may be no room yet: who looks must not wait for who looks."""
        for workflow_id, delay in workflow_ids.items():
            if delay:
                self._later.look(workflow_id, delay)
            else:
                self._group.create_task(self._dirty.put(workflow_id), name=f"wake {workflow_id}")

    def _obey(self, command: decide.Command, actions: dict[str, Action]) -> None:
        """Begin what a command says. There is no await in here, so the jobs are still those that were decided upon."""
        match command:
            case decide.StartAction(action=action, key=key):
                if self._places.has_room:
                    self._start(key, actions)
                else:
                    self._places.wait(key.workflow_id)
            case decide.AdoptAction(action=action, key=key):
                job = self._job(key, actions)
                self._begin(job, lambda: self._agent.adopt(job))
            case decide.StopAction(key=key, reason=reason):
                self._stop(key, reason)
            case decide.RunHook(action=action, key=key):
                if (job_of_attempt := self._roster.jobs.get(key.main)) is not None:
                    job_of_attempt.leave(f"the action is {action.state}")
                else:
                    self._begin_hook(key, actions[action.id], is_first=False)
            case decide.ReleaseMachines(workflow_id=workflow_id):
                self._group.create_task(self._release(workflow_id), name=f"release {workflow_id}")
            case decide.Wait(action=action):
                self._wait(command, actions[action.id].workflow_id)
            case _:
                assert_never(command)

    def _wait(self, command: decide.Wait, workflow_id: str) -> None:
        logger.debug("a workflow waits", extra={"action": command.action.id, "reason": command.reason.value})
        if command.seconds is not None:
            self._later.look(workflow_id, command.seconds)
        if command.reason is decide.WaitReason.ABANDONED:
            self._expiry.lose(workflow_id, after_seconds=self._keeper.grace_seconds)

    def _job(self, key: RunKey, actions: Mapping[str, Action]) -> Job:
        job = Job(key, actions[key.action_id])
        job.on_success = lambda: self._follow(job, actions)
        return job

    def _start(self, key: RunKey, actions: Mapping[str, Action], *, is_follower: bool = False) -> Job | None:
        job = self._job(key, actions)
        job.is_follower = is_follower
        return job if self._begin(job, lambda: self._agent.start(job)) else None

    def _follow(self, job: Job, actions: Mapping[str, Action]) -> None:
        """Begin the action after one that has succeeded, in its place, so that both are reported by one call.

        The server refuses it where that is wrong, as it does where it refuses the success.
        """
        following = next((a for a in actions.values() if a.index == job.action.index + 1), None)
        job.is_last = following is None
        self._roster.ended.add(job.key)
        has_turn = self._places.has_room and not self._places.has_waiting
        if following is not None and following.worker_id in self._serves and has_turn:
            key = RunKey(job.key.workflow_id, following.id, following.attempt + 1)
            job.follower = self._start(key, actions, is_follower=True)

    def _stop(self, key: RunKey, reason: str) -> None:
        if (job := self._roster.jobs.get(key)) is not None:
            job.stop(reason)
        else:
            self._roster.clearing.add(key)
            self._group.create_task(self._clear(key, reason), name=f"clear {key.action_id}")

    async def _clear(self, key: RunKey, reason: str) -> None:
        """Discard a run that nobody watches; where that fails, the next list leads back to it."""
        try:
            is_gone = await self._agent.discard(key, reason)
        finally:
            self._roster.clearing.discard(key)
        if is_gone:
            self._roster.let_go(key)
            await self._dirty.put(key.workflow_id)

    async def _release(self, workflow_id: str) -> None:
        """Tell the server that nothing of a workflow is left here, if that is certain."""
        if self._roster.is_known and await self._keeper.release(workflow_id):
            self._begun.discard(workflow_id)
            self._admission.release(workflow_id)
            await self._dirty.put(workflow_id)

    def _begin(self, job: Job, work: Callable[[], Awaitable[None]]) -> bool:
        """Begin a job, unless there is one of its key, or its run is being cleared up; say whether it was begun."""
        if (former := self._roster.jobs.get(job.key)) is not None:
            former.has_missed = True
            return False
        if job.key in self._roster.clearing:
            return False  # what clears up looks again when it is done
        task = self._carry_out(job, work)
        try:
            self._group.create_task(task, name=f"job {job.key.action_id}")
        except RuntimeError:
            # Everything stops; only what is granted some last seconds still comes here, and goes on to its end.
            task.close()
            return False
        self._roster.jobs[job.key] = job
        self._begun.add(job.key.workflow_id)
        return True

    def _begin_hook(self, key: RunKey, action: Action, *, is_first: bool) -> None:
        """Begin a hook. It waits for no place: it follows on a job that had one."""
        job = Job(key, action)
        self._begin(job, lambda: self._agent.run_hook(job, is_first=is_first))

    async def _carry_out(self, job: Job, work: Callable[[], Awaitable[None]]) -> None:
        """Do a job, then look at its workflow again, and at one that has waited for its place."""
        key = job.key
        # What was refused after a look would be refused again at once; a change that allows it brings an event.
        looks_again = False
        try:
            await work()
            job.is_settled = True
            if job.is_unfinished:
                self._roster.note(key)
            elif not job.leaves_run:
                self._roster.let_go(key)
            has_news = job.was_blocked or job.is_follower or job.has_missed or job.stop_reason
            is_wrong = job.was_refused and not has_news
            looks_again = not (is_wrong or job.is_unfinished or job.has_follower)
            if job.was_refused:
                self._wake(self._admission.refuse(key.workflow_id))
        except Exception:
            # One broken action must not take the others down. What it left is found by the next list.
            logger.exception("a job failed", extra={"workflow": key.workflow_id, "action": key.action_id})
        finally:
            del self._roster.jobs[key]
            self._roster.ended.discard(key)
        if job.leaves_run:
            self._roster.note(key)
        if job.hook is not None:
            self._begin_hook(replace(key, hook=job.hook), job.action, is_first=True)
        if looks_again and job.has_finished:
            self._told.hear_of_success(key.workflow_id)
        for workflow_id in [*self._places.take(), *([key.workflow_id] if looks_again else [])]:
            await self._dirty.put(workflow_id)
