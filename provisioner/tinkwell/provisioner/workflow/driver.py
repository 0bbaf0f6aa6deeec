"""Brings workflows to completion: looks at each workflow that may need something, and obeys `core.decide`.

Theory of operation.

    watch ──┐
    list  ──┼─▶ dirty ids ─▶ lookers ─▶ decide(what the server says, what runs here) ─▶ runner ─▶ agent
    jobs  ──┘

A look asks the server for the workflow's state and decides what to do. An event only says that its workflow should be
looked at. So events may be lost, doubled or late, and a restart loses nothing. If the events of a workflow's creation
tell as much as a look would, they replace the call to the server; see `event_snapshot`. All unfinished workflows are
listed whenever a watch begins, and also every `resync_seconds`, in case an event or a timer has failed; `resync` says
which of the listed workflows are looked at.

A workflow is looked at by one looker at a time, so its commands are given in order. Events about the progress of an
action that runs here lead to no look, because its job has caused them. A look ends without waiting for the jobs that it
began: they run beside it, see `runner`, at most `concurrency` of them. If all places are taken, the workflow waits
until a job has ended. Adopted runs count but never wait, because they run already. A workflow that may not start
because another one runs on its machine waits until that one has ended; see `machine_queue`.

Any number of provisioners may serve the same workers. Each holds its runs under its lease, see `lease`, and the others
leave these runs alone until that lease is over. Then a provisioner that finds the run on its machine takes it over; if
none does so in time, the server is asked to end the run as lost. If a run was stopped without a report of its end, its
machine is released once nothing of the workflow is left there, by this process or by its successor.
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
# At most this many workflows are remembered as having no worker that is served here. Forgetting one costs one look.
MAX_FOREIGN = 10_000


class WorkflowApi(reporter.ReportsApi, expiry.ExpiryApi, snapshot.LookApi, shared_document.DocumentApi, Protocol):
    """The calls to the server that the driver needs."""

    def unfinished(self) -> AsyncIterator[Unfinished]:
        """Yield the ids of all unfinished workflows, in pages."""

    def watch(
        self, *, now: bool, event_types: Collection[EventType], on_created: Callable[[object], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Watch events of workflows and actions; `on_created` is called each time a connection is live."""


class Driver:
    """Runs the workflows of the workers in `serves`, until it is cancelled. Runs in progress outlive it."""

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
        """Work until cancelled; runs in progress go on. Raises an `errors.Error` that no retry can mend."""
        async with self._group as group:
            group.create_task(self._watch(), name="watch")
            group.create_task(self._expiry.run(), name="expiry")
            group.create_task(self._reporter.run(), name="reports")
            group.create_task(self._list_again_and_again(), name="list")
            for number in range(LOOKERS):
                group.create_task(self._look_at_dirty(), name=f"looker {number}")
        raise AssertionError("its tasks never end by themselves")

    def inherit(self, ids: Iterable[str]) -> None:
        """Take over workflows that the lease holds from its beginning: list the runs here, then look at them."""
        self._roster.begun.update(ids)
        self._relist.set()

    def hear_of_lost(self, ids: Iterable[str]) -> None:
        """Look at workflows whose owner is dead: runs that are here are adopted, the others are ended as lost."""
        lost = list(ids)
        for workflow_id in lost:
            self._expiry.lose(workflow_id, after_seconds=self._keeper.grace_seconds)
        self._group.create_task(self._find_lost(lost), name="find lost")

    def lose(self) -> None:
        """Stop the runs that have attempts left, as the lease is over and others may repeat them; the rest go on."""
        self._runner.stop_repeatable("the lease of this provisioner is over, and another one may repeat the action")

    async def _find_lost(self, workflow_ids: list[str]) -> None:
        await self._roster.find()
        for workflow_id in workflow_ids:
            if workflow_id not in self._foreign or self._roster.has(workflow_id):
                await self._dirty.put(workflow_id)

    async def _watch(self) -> None:
        """Have the workflow of each event looked at, if the event is news."""
        while True:
            try:
                watch = self._api.watch(now=True, event_types=event_filter.WANTED, on_created=self._watch_is_live)
                async with watch as events:
                    async for event in events:
                        self._expiry.hear(event)
                        await self._hear(event)
            except errors.HistoryGone as error:
                logger.warning(
                    "the watch has missed events of workflows; all unfinished workflows are listed instead",
                    extra={"cause": str(error)},
                )
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
                logger.debug("unfinished workflows are listed, in case an event was lost")
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
                # A workflow that waits for its turn is looked at when another workflow or job ends.
                if not self._runner.is_waiting(workflow_id) and not self._admission.is_waiting(workflow_id):
                    await self._note(workflow_id)

    async def _note(self, workflow_id: str) -> None:
        if self._is_worth_a_look(workflow_id):
            await self._dirty.put(workflow_id)

    def _is_worth_a_look(self, workflow_id: str) -> bool:
        is_foreign = workflow_id in self._foreign and not self._roster.has(workflow_id)
        return bool(workflow_id) and (not is_foreign or self._admission.is_holder(workflow_id))

    async def _look_at_dirty(self) -> None:
        await self._keeper.token()  # Without a lease, every run would seem to belong to another provisioner.
        while True:
            workflow_id = await self._dirty.take()
            try:
                await self._look_at(workflow_id)
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                # Trying again here would keep the looker from all other workflows.
                logger.warning(
                    "the server failed to return a workflow; it is asked again when workflows are listed next",
                    extra={"workflow": workflow_id, "cause": str(error)},
                )
            await self._dirty.done(workflow_id)
            self._later.wake(dict.fromkeys(self._runner.take_waiting(), 0.0))

    async def _look_at(self, workflow_id: str) -> None:
        """Find out what a workflow needs, and begin that."""
        self._survey.forget(workflow_id)
        seen = await self._see(workflow_id)
        view = seen.view
        if view.actions and not any(action.worker_id in self._serves for action in view.actions):
            self._foreign.add(workflow_id)  # This stays true, because a workflow's actions never change.
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
        # A snapshot of the creation is out of date if an action of the workflow was begun here since.
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
        """Begin what a command says. It must not await, so that the jobs are still those that the decision is about."""
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
        """Tell the server that no run of a workflow is left here, if the runtime has said so."""
        if self._roster.is_known and await self._keeper.release(workflow_id):
            self._roster.begun.discard(workflow_id)
            self._admission.release(workflow_id)
            await self._dirty.put(workflow_id)
