"""Brings workflows to completion: looks at each that may need something, and obeys `core.decide`.

Theory of operation.

    watch ──┐
    list  ──┼─▶ dirty ids ─▶ lookers ─▶ decide(what the server says, what runs here) ─▶ runner ─▶ agent
    jobs  ──┘

An event says only that its workflow is worth a look; what is to be done follows from the look alone. So events may be
lost, doubled or late, and nothing is kept here that a restart would miss. Where events tell as much as a look would,
they are one; see `event_snapshot`. All unfinished workflows are listed whenever
a watch begins, and from time to time in case some other way of noticing has failed; `resync` says which of them are
then looked at.

A workflow is looked at by one looker at a time, so its commands are given in order. While an action runs here, the
progress of its workflow is its own, and no news. A look ends without waiting for what it began: jobs run beside it, see
`runner`, at most `concurrency` of them; a workflow whose turn would be one more waits, by its id, until a job has
ended. Adopted runs count but never wait, because they run already. A workflow that may not start because another one
runs on its machine waits as well, until that one has ended; see `machine_queue`.

Any number of provisioners may serve the same workers. What one of them runs it holds under its lease, see `lease`, and
the others leave it alone until that is over. Then one that has the run at hand takes it over; where nobody does so in
time, the server is asked to give it up for lost. A machine on which something was stopped without its own report is
released when nothing is left there, be it by a successor.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Container, Iterable
from contextlib import AbstractAsyncContextManager
from typing import NoReturn, Protocol, assert_never

from tinkwell.client import errors, retry
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.watch.event import Event
from tinkwell.client.workflow.model import Action, Unfinished
from tinkwell.core.event.kinds import EventType, State
from tinkwell.core.value.run_key import RunKind
from tinkwell.core.workflow import decide
from tinkwell.provisioner.agent import agent
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.queue import delay_queue, recent_set, work_queue
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.workflow import (
    admission,
    event_filter,
    event_snapshot,
    expiry,
    reporter,
    resync,
    run_registry,
    runner,
    shared_document,
    snapshot,
    workflow_folder,
)

logger = logging.getLogger(__name__)

LOOKERS = 8
MAX_DIRTY = 1000
# So many workflows are remembered as having no worker that is served here; a forgotten one costs a look.
MAX_FOREIGN = 10_000


class WorkflowApi(reporter.ReportsApi, expiry.ExpiryApi, snapshot.LookApi, shared_document.DocumentApi, Protocol):
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
        keeper: Keeper,
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
        self._serves = serves
        self._resync_seconds = resync_seconds
        self._expiry = expiry.Expiry(api)
        self._dirty = work_queue.DirtySet(MAX_DIRTY)
        self._relist = asyncio.Event()
        self._roster = run_registry.Roster(runtime, claims)
        self._survey = resync.Survey(self._roster)
        self._told = event_snapshot.Told(keeper)
        self._admission = admission.Admission()
        self._foreign = recent_set.RecentSet(MAX_FOREIGN)
        self._group = asyncio.TaskGroup()
        keeper.add(RunKind.WORKFLOW, self)
        self._later = delay_queue.Later(self._dirty, self._group)
        self._runner = runner.Runner(
            agent=agent.Agent(runtime, files, claims),
            runtime=runtime,
            files=files,
            api=self._reporter,
            documents=api,
            lease=keeper,
            roster=self._roster,
            admission=self._admission,
            told=self._told,
            later=self._later,
            serves=serves,
            concurrency=concurrency,
            group=self._group,
        )

    async def run(self) -> NoReturn:
        """Work until cancelled, which leaves running what runs; raises an `errors.Error` that cannot be mended."""
        async with self._group as group:
            group.create_task(self._watch(), name="watch")
            group.create_task(self._expiry.run(), name="expiry")
            group.create_task(self._reporter.run(), name="reports")
            group.create_task(self._list_again_and_again(), name="list")
            for number in range(LOOKERS):
                group.create_task(self._look_at_dirty(), name=f"looker {number}")
        raise AssertionError("its tasks never end by themselves")

    def inherit(self, ids: Iterable[str]) -> None:
        """Look at workflows that are held under the lease from its beginning, once it is known what is here."""
        self._roster.begun.update(ids)
        self._relist.set()

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        """Take over what a dead owner has left here, and see to it that the rest is given up for lost."""
        lost = list(ids)
        for workflow_id in lost:
            self._expiry.lose(workflow_id, after_seconds=self._keeper.grace_seconds)
        self._group.create_task(self._find_lost(lost), name="find lost")

    def lose(self) -> None:
        """Stop what others may start anew, since the lease is over; the rest cannot be started twice, and goes on."""
        self._runner.stop_repeatable("the lease is over, and another attempt may begin elsewhere")

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
        if self._is_worth_a_look(workflow_id) and not self._runner.expects(event) and self._told.hear(event):
            await self._dirty.put(workflow_id)

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
            here = {*self._roster.workflow_ids, *self._roster.begun}
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
                if not self._runner.is_waiting(workflow_id) and not self._admission.is_waiting(workflow_id):
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
            self._later.wake(dict.fromkeys(self._runner.take_waiting(), 0.0))

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
        self._later.wake(woken)
        if has_turn:
            for command in commands:
                self._obey(command, seen.actions)
        if self._roster.has(workflow_id):
            return
        if not view.is_owed:
            self._roster.begun.discard(workflow_id)
        if view.state is State.SUCCEEDED or not view.actions:
            await asyncio.to_thread(workflow_folder.forget, self._files, self._claims, workflow_id)

    async def _see(self, workflow_id: str) -> snapshot.Seen:
        known = self._told.take(workflow_id)
        # How it began says nothing any more once something of it was begun here.
        if known is not None and (known.view.state.is_final or workflow_id not in self._roster.begun):
            return known
        return await retry.until_answered(
            lambda: snapshot.see(
                self._api, workflow_id, lease=self._keeper, was_begun=workflow_id in self._roster.begun
            ),
            what="get a workflow",
            gives_up=(errors.Internal,),
        )

    def _obey(self, command: decide.Command, actions: dict[str, Action]) -> None:
        """Begin what a command says. There is no await in here, so the jobs are still those that were decided upon."""
        match command:
            case decide.StartAction(key=key):
                self._runner.start(key, actions)
            case decide.AdoptAction(key=key):
                self._runner.adopt(key, actions)
            case decide.StopAction(key=key, reason=reason):
                self._runner.stop(key, reason)
            case decide.RunHook(key=key):
                self._runner.run_hook(key, actions[key.run])
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

    async def _release(self, workflow_id: str) -> None:
        """Tell the server that nothing of a workflow is left here, if that is certain."""
        if self._roster.is_known and await self._keeper.release(workflow_id):
            self._roster.begun.discard(workflow_id)
            self._admission.release(workflow_id)
            await self._dirty.put(workflow_id)
