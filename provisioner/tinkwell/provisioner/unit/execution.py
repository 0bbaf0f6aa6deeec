"""Runs one attempt at an event of a unit, or a task: prepares it, runs its program and reports its end.

    end an old process ─▶ prepare charm, Python and state ─▶ program ─┬─▶ success: outcome to the disk ─▶ commit
                                                                      └─▶ failure, or lost: report it at once

The server's answer says what the unit runs next, or why it runs nothing. A task that has failed is committed as well,
without effects, so its result is kept on the disk until the server has it.
"""

import asyncio
import functools
import logging
from pathlib import Path

from tinkwell.client import errors, retry
from tinkwell.client.unit.agent import worker
from tinkwell.client.unit.agent.grant import NoEvent
from tinkwell.client.unit.agent.outcome import Outcome
from tinkwell.core import errors as core_errors
from tinkwell.core.unit.effect import NO_EFFECTS, Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind, TaskState
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit import ending, granted, journal, mirror, script
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Given
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.dispatch import environment, program, venv
from tinkwell.provisioner.unit.granted import Granted
from tinkwell.provisioner.unit.host import Host
from tinkwell.provisioner.unit.spoken import Spoken
from tinkwell.provisioner.unit.state import notice
from tinkwell.provisioner.unit.world import Around

logger = logging.getLogger(__name__)

_CANCELLED = "it was cancelled"


class Broken(Exception):
    """The event cannot be run on this machine; the text says why."""


class Execution:
    """An attempt that a unit was granted."""

    def __init__(self, host: Host, given: Granted) -> None:
        self._host = host
        self._granted = given
        self._grant = given.grant
        self._folder = host.folders.unit(self._grant.unit_id)
        self._world = Around(host, given, self._folder, self.learn)
        self._is_cancelled = asyncio.Event()
        self._spoken = Spoken()
        self._note_cancelled()

    async def run(self) -> Granted | NoEvent:
        """Run the attempt to its end, and return what comes next. Raises an `errors.Error` if its end is refused."""
        fields = {"unit": self._grant.unit, "event": self._name, "attempt": self._grant.event.attempt}
        logger.info("an event of a unit begins", extra=fields)
        try:
            own = self._host.folders
            attempt = Attempt(await asyncio.to_thread(granted.given, self._grant, own, self._host.address), self._world)
            python = await self._prepare(attempt)
            if self._is_cancelled.is_set():
                return await self._fail(_CANCELLED, state=TaskState.CANCELLED)
            ended = await self._carry_out(attempt, python)
        except (Broken, OSError, Refused, state_dir.StateError, venv.Unbuildable) as error:
            return await self._fail(str(error))
        logger.info("an event of a unit has ended", extra=fields | {"code": ended.code, "signal": ended.signal})
        if self._grant.task is not None:
            return await self._end_task(attempt, ended)
        if ended.is_success:
            return await self._commit(attempt)
        return await self._fail(self._reason(ended), is_lost=bool(ended.signal) and not ended.is_late)

    def learn(self, given: Granted) -> None:
        """Take a newer grant of the same attempt: the unit may lead no more, or the task may be cancelled."""
        self._granted = given
        self._world.learn(given)
        self._note_cancelled()

    async def give_up(self) -> Granted | NoEvent:
        """Report FAILED for a task that was run already, if the server does not have its end."""
        return await self._fail("its end could not be told, and a task is not run a second time")

    def _note_cancelled(self) -> None:
        task = self._granted.grant.task
        if task is not None and task.is_cancelled:
            self._is_cancelled.set()

    @property
    def _name(self) -> str:
        task = self._grant.task
        return self._grant.event.name if task is None else task.name or "exec"

    async def _prepare(self, attempt: Attempt) -> Path | None:
        """End the process of an earlier attempt, and prepare everything that the program needs.

        Returns the folder with the charm's Python environment, None for a charm of scripts.
        """
        given, folder = attempt.given, self._folder
        await asyncio.to_thread(script.end_former, folder.record)
        await asyncio.to_thread(folder.state.settle, self._grant.committed_ordinal)
        if not await asyncio.to_thread(lambda: folder.history):
            history_id = await retry.until_answered(self._host.history, what="ask which log of events this is")
            await asyncio.to_thread(folder.note_history, history_id)
        await asyncio.to_thread(self._provide_storages, given)
        if not await asyncio.to_thread(folder.has_charm, self._grant.charm):
            await self._unpack()
        if self._grant.kind is not CharmKind.OPS:
            return None
        python = await self._host.venvs.ready(folder.charm, self._grant.charm)
        await granted.enter(attempt)
        await asyncio.to_thread(folder.state.begin, self._grant.event.id, self._grant.event.ordinal)
        return python

    def _provide_storages(self, given: Given) -> None:
        if given.storages:
            self._host.folders.note_history(self._folder.history)
        for name, path in given.storages.items():
            self._folder.note_storage(given.namespace, name)
            if not Path(path).is_dir():
                Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)
                self._host.folders.give(Path(path))

    async def _unpack(self) -> None:
        await asyncio.to_thread(self._folder.sweep)
        try:
            await self._host.call(self._fetch, what="fetch a charm")
        except core_errors.CharmRefused as error:
            raise Broken(f"charm {self._grant.charm} cannot be unpacked: {error}") from error
        except errors.Error as error:
            raise Broken(f"charm {self._grant.charm} cannot be fetched: {error}") from error

    async def _fetch(self, token: int) -> None:
        with await asyncio.to_thread(self._folder.new_package) as file:
            async for part in self._host.api.fetch_charm(token, self._grant.charm):
                await asyncio.to_thread(file.write, part)
            await asyncio.to_thread(self._folder.unpack, file, self._grant.charm)
        await self._host.forget(self._folder)

    async def _carry_out(self, attempt: Attempt, python: Path | None) -> script.Ending:
        """Run the event's program; if the charm has none for this event, that is a success."""
        found = await asyncio.to_thread(program.find, self._folder.charm, self._grant.kind, attempt.given.occasion)
        if found is None:
            return script.Ending()
        desk, lines = self._host.desk, self._world.journal
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(lines.run(), name=f"lines of {self._grant.unit}")
            with desk.admitting(attempt) as context:
                place = environment.Place(
                    charm=self._folder.charm,
                    tools=self._host.folders.tools,
                    socket=desk.path,
                    context=context,
                    machine=self._grant.machine,
                    home=self._host.folders.home,
                    python=python,
                )
                modules = {"PYTHONPATH": found.modules} if found.modules else {}
                ended = await script.Script(
                    argv=found.argv,
                    environment=environment.make(attempt.given, place) | modules,
                    folder=self._folder.charm,
                    record=self._folder.record,
                    timeout_seconds=self._granted.remaining_seconds,
                    account=self._host.folders.account,
                    stop=self._is_cancelled,
                    fork=self._fork(python),
                ).run(self._spoken.hear if self._grant.task else lines.hear)
            await lines.finish()
            await asyncio.wait([sending], timeout=journal.LAST_SECONDS)
            sending.cancel()
        return ended

    def _fork(self, python: Path | None) -> script.Fork | None:
        """Return the function that forks a process with the charm's Python loaded; None if there is no pool."""
        if self._host.pool is None or python is None:
            return None
        return functools.partial(self._host.pool.fork, digest=self._grant.charm, python=python)

    def _reason(self, ended: script.Ending) -> str:
        if ended.is_late:
            return f"it took longer than {self._grant.timeout_seconds:,.0f} s, and was ended"
        if ended.signal:
            return f"it was ended by signal {ended.signal}"
        return f"exit {ended.code}"

    async def _commit(self, attempt: Attempt, task: TaskOutcome | None = None) -> Granted | NoEvent:
        try:
            outcome = await self._outcome(await self._effects(attempt), task)
        except (OSError, notice.Unreadable) as error:
            return await self._fail(
                f"the state file of the charm, or the outcome of the event, cannot be used: {error}"
            )
        try:
            return await ending.commit(self._host, outcome)
        except (*retry.HOPELESS, *ending.ENDED):
            raise
        except errors.Error as error:
            # Without this report the server would give the same attempt again, with the same end.
            return await self._fail(f"the server refused the effects of the event: {error}")

    async def _effects(self, attempt: Attempt) -> Effects:
        done = granted.effects(self._grant, attempt)
        if self._grant.kind is not CharmKind.OPS:
            return done
        return await asyncio.to_thread(mirror.add_notices, done, self._grant, self._folder.state.path)

    async def _outcome(self, done: Effects, task: TaskOutcome | None) -> Outcome:
        """Write the outcome to the disk, and return it. Raises `OSError`."""
        is_ops = self._grant.kind is CharmKind.OPS
        outcome = Outcome(
            unit_id=self._grant.unit_id,
            event_id=self._grant.event.id,
            attempt=self._grant.event.attempt,
            lease_token=await self._host.lease.token(),
            effects=worker.encode(done),
            state=await asyncio.to_thread(self._folder.state.digest) if is_ops else "",
            task=task,
        )
        await asyncio.to_thread(self._host.outcomes.keep, outcome)
        return outcome

    async def _end_task(self, attempt: Attempt, ended: script.Ending) -> Granted | NoEvent:
        """Report the end of a task. Only a task that has succeeded has effects besides its result."""
        said = attempt.result.failure
        result = self._spoken.result(attempt.result.values, ended)
        if ended.is_success and said is None:
            return await self._commit(attempt, TaskOutcome(state=TaskState.SUCCEEDED, result=result))
        state, why = TaskState.FAILED, self._reason(ended) if said is None else said
        if ended.is_stopped:
            state, why = TaskState.CANCELLED, _CANCELLED
        elif ended.is_late:
            state = TaskState.TIMEOUT
        return await self._fail(why, state=state, result=result)

    async def _fail(
        self, why: str, *, is_lost: bool = False, state: TaskState = TaskState.FAILED, result: str = ""
    ) -> Granted | NoEvent:
        if self._grant.task is None:
            return await ending.fail(self._host, self._granted, why, is_lost=is_lost)
        logger.warning("a task of a unit has not succeeded", extra={"unit": self._grant.unit, "cause": why})
        await asyncio.to_thread(self._folder.state.restore)
        outcome = TaskOutcome(state=state, result=result, message=why[: ending.MAX_MESSAGE])
        return await ending.commit(self._host, await self._outcome(NO_EFFECTS, outcome))
