"""Runs the events of one unit, one after the other, until the unit is gone.

woken, or time ──▶ outcome on the disk? commit it ──▶ ask what is next ──▶ run it ──▶ its end says what is next …
                                                              └──▶ nothing: wait. Gone: end the process, clear up
"""

import asyncio
import contextlib
import logging

from tinkwell.client import backoff, errors, retry
from tinkwell.client.unit.agent.grant import NoEvent, NoEventReason
from tinkwell.provisioner.unit import ending, execution, script
from tinkwell.provisioner.unit.folder import UnitFolder
from tinkwell.provisioner.unit.granted import Granted
from tinkwell.provisioner.unit.host import Host

logger = logging.getLogger(__name__)

# How long after a wake-up during an event the server is asked whether the unit still exists.
LOOK_SECONDS = 1.0
LONGEST_SECONDS = 30.0


class Unit:
    """One unit that this machine runs. `places` limits how many units work at once."""

    def __init__(self, host: Host, unit_id: str, places: asyncio.Semaphore) -> None:
        self._host = host
        self._id = unit_id
        self._places = places
        self._woken = asyncio.Event()
        self._pause = backoff.Backoff(longest_seconds=LONGEST_SECONDS)
        # Whether the server was asked what is next while an event ran: it may have granted the following event.
        self._has_looked = False
        # The task that was begun last. If it is granted again, it is not run again.
        self._task = ""

    def wake(self) -> None:
        """Have the unit ask what is due."""
        self._woken.set()

    async def run(self) -> None:
        """Work until the unit is gone. Raises an `errors.Error` that no retry can mend."""
        due_in_seconds: float | None = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(due_in_seconds):
                    await self._woken.wait()
            self._woken.clear()
            async with self._places:
                nothing = await self._work()
                if nothing is not None and nothing.reason is NoEventReason.GONE:
                    await self._clear()
                    return
            due_in_seconds = self._pause.next_seconds() if nothing is None else nothing.due_in_seconds

    async def _work(self) -> NoEvent | None:
        """Run events until none is due, and return why; None if that failed and must be tried again."""
        try:
            following = await self._first()
            while isinstance(following, Granted):
                following = await self._carry_out(following)
        except errors.IllegalTransition as error:
            # Another agent runs the unit, or the stream has not begun yet. The stream wakes the unit if that changes.
            logger.debug("the server does not give this agent the unit", extra={"unit": self._id, "cause": str(error)})
            return NoEvent(reason=NoEventReason.NOTHING_DUE, due_in_seconds=LONGEST_SECONDS)
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning(
                "the events of a unit cannot be run for now; it is tried again soon",
                extra={"unit": self._id, "cause": str(error)},
            )
            return None
        except OSError as error:
            # A full disk, or files that a charm has spoiled, must not stop the other units.
            logger.warning(
                "the files of a unit cannot be used; its events are tried again soon",
                extra={"unit": self._id, "cause": str(error)},
            )
            return None
        self._pause.reset()
        return following

    async def _first(self) -> Granted | NoEvent:
        """Commit the outcome of an earlier attempt, if there is one, and return what is next."""
        outcome = await ending.find(self._host, self._id)
        if outcome is not None:
            try:
                return await ending.commit(self._host, outcome)
            except errors.Error as error:
                # Whatever has become of that event, the next answer says what the unit runs.
                if isinstance(error, retry.HOPELESS):
                    raise
        return await ending.next_event(self._host, self._id)

    async def _carry_out(self, granted: Granted) -> Granted | NoEvent:
        """Run an attempt, and end it if the unit is gone meanwhile. If its end is refused, ask what is next."""
        attempt = execution.Execution(self._host, granted)
        if (task := granted.grant.task) is not None:
            if task.id == self._task:
                return await attempt.give_up()
            self._task = task.id
        working = asyncio.ensure_future(attempt.run())
        looking = asyncio.ensure_future(self._look(granted, attempt))
        try:
            await asyncio.wait([working, looking], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                return looking.result()
            return working.result()
        except ending.ENDED:
            return await ending.next_event(self._host, self._id)
        except asyncio.CancelledError:
            await _cancel(looking, working)
            await ending.hand_back(self._host, granted)
            raise
        finally:
            await _cancel(looking, working)
            if self._has_looked:
                self._has_looked = False
                self._woken.set()

    async def _look(self, granted: Granted, attempt: execution.Execution) -> NoEvent:
        """Ask the server whenever the unit was woken; return when the unit is gone."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(LOOK_SECONDS)
            self._woken.clear()
            self._has_looked = True
            try:
                following = await ending.next_event(self._host, self._id)
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                continue  # The report of the event's end will meet the same error.
            match following:
                case Granted() if granted.is_same(following.grant):
                    attempt.learn(following)
                case NoEvent(reason=NoEventReason.GONE):
                    return following

    async def _clear(self) -> None:
        """End the unit's process and remove its files, if they belong to the server's event log.

        If the server has another event log, as after a restore of its database, the files stay: the server may only not
        know the unit for now.
        """
        folder = self._host.folders.unit(self._id)
        try:
            await asyncio.to_thread(script.end_former, folder.record)
        except OSError as error:
            fields = {"unit": self._id, "cause": str(error)}
            logger.warning("a process of a unit that is gone cannot be ended; end it by hand", extra=fields)
        noted = await asyncio.to_thread(lambda: folder.history)
        if noted and noted != await retry.until_answered(self._host.history, what="ask which log of events this is"):
            logger.warning(
                "the server does not know a unit, and has another event log than the unit's; the unit's files are kept",
                extra={"unit": self._id, "folder": folder.path},
            )
            return
        await self._clear_storages(folder)
        await asyncio.to_thread(folder.remove)
        await self._host.forget(folder)
        await asyncio.to_thread(self._host.outcomes.drop, self._id)
        logger.info("a unit is gone, and its files were removed", extra={"unit": self._id})

    async def _clear_storages(self, folder: UnitFolder) -> None:
        """Remove those storages of the unit that the server does not have; detached ones stay for other units."""
        for namespace, name in await asyncio.to_thread(folder.storages):
            try:
                there = await retry.until_answered(
                    lambda: self._host.storages(namespace),  # noqa: B023  (it is called in this turn)
                    what="list storages",
                )
            except errors.Error as error:
                if isinstance(error, retry.HOPELESS):
                    raise
                fields = {"storage": name, "namespace": namespace, "cause": str(error)}
                logger.warning(
                    "the server failed to list storages; the storage of a unit that is gone is kept", extra=fields
                )
                continue
            if name not in there:
                await asyncio.to_thread(self._host.folders.remove_storage, namespace, name)


async def _cancel(*tasks: "asyncio.Future[NoEvent] | asyncio.Future[Granted | NoEvent]") -> None:
    """Cancel tasks, and wait until they have cleared up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
