"""Runs the events of one unit, one after the other, for as long as the unit is there.

wake, or time ──▶ outcome on the disk? commit it ──▶ ask what is next ──▶ run it ──▶ its end says what is next …
                                                              └──▶ nothing: wait. Gone: end what runs, clear up
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

# How long a unit that was woken while its event runs is left alone before it is asked whether it is still there.
LOOK_SECONDS = 1.0
LONGEST_SECONDS = 30.0


class Unit:
    """One unit that this machine runs. `places` bounds how many are at work at once."""

    def __init__(self, host: Host, unit_id: str, places: asyncio.Semaphore) -> None:
        self._host = host
        self._id = unit_id
        self._places = places
        self._woken = asyncio.Event()
        self._pause = backoff.Backoff(longest_seconds=LONGEST_SECONDS)
        # Whether it was asked what is next while an event ran: that may have granted the event after it.
        self._has_looked = False
        # The task that was begun last: granted again, it is not run again.
        self._task = ""

    def wake(self) -> None:
        """Have it look for what is due."""
        self._woken.set()

    async def run(self) -> None:
        """Work until the unit is gone. Raises an `errors.Error` that cannot be mended."""
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
        """Run what is due until nothing is, and say why; None where that is not known, and to be asked again."""
        try:
            following = await self._first()
            while isinstance(following, Granted):
                following = await self._carry_out(following)
        except errors.IllegalTransition as error:
            # It is another agent's, or not served before the stream begins. Who gets a unit is woken for it.
            logger.debug("a unit is not to be had", extra={"unit": self._id, "cause": str(error)})
            return NoEvent(reason=NoEventReason.NOTHING_DUE, due_in_seconds=LONGEST_SECONDS)
        except errors.Error as error:
            if isinstance(error, retry.HOPELESS):
                raise
            logger.warning("a unit's events cannot be run", extra={"unit": self._id, "cause": str(error)})
            return None
        except OSError as error:
            # A disk that is full, or files that a charm has spoiled, are no matter of the other units.
            logger.warning("a unit's files cannot be used", extra={"unit": self._id, "cause": str(error)})
            return None
        self._pause.reset()
        return following

    async def _first(self) -> Granted | NoEvent:
        """Send what a former attempt has come to, and ask what is next."""
        outcome = await ending.find(self._host, self._id)
        if outcome is not None:
            try:
                return await ending.commit(self._host, outcome)
            except errors.Error as error:
                # Whatever has become of that event, the next answer says how the unit is.
                if isinstance(error, retry.HOPELESS):
                    raise
        return await ending.next_event(self._host, self._id)

    async def _carry_out(self, granted: Granted) -> Granted | NoEvent:
        """Run an attempt, and end it where the unit is gone meanwhile. A commit that is refused leads to a new look."""
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
        """Return once the unit turns out to be gone, looking whenever it was woken."""
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
                continue  # the event's own end meets the same
            match following:
                case Granted() if granted.is_same(following.grant):
                    attempt.learn(following)
                case NoEvent(reason=NoEventReason.GONE):
                    return following

    async def _clear(self) -> None:
        """End what still runs of the unit, and remove its files, if they are of the unit that is gone.

        A database that was restored, or another server, does not know of a unit that may be there again tomorrow.
        """
        folder = self._host.folders.unit(self._id)
        try:
            await asyncio.to_thread(script.end_former, folder.record)
        except OSError as error:
            fields = {"unit": self._id, "cause": str(error)}
            logger.warning("what runs of a unit that is gone cannot be ended", extra=fields)
        noted = await asyncio.to_thread(lambda: folder.history)
        if noted and noted != await retry.until_answered(self._host.history, what="ask which log of events this is"):
            logger.warning(
                "files of a unit that is not known are left", extra={"unit": self._id, "folder": folder.path}
            )
            return
        await self._clear_storages(folder)
        await asyncio.to_thread(folder.remove)
        await self._host.forget(folder)
        await asyncio.to_thread(self._host.outcomes.drop, self._id)
        logger.info("a unit is gone", extra={"unit": self._id})

    async def _clear_storages(self, folder: UnitFolder) -> None:
        """Remove the storages of the unit that have gone with it; those that were detached stay for other units."""
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
                logger.warning("a storage is left, though its unit is gone", extra=fields)
                continue
            if name not in there:
                await asyncio.to_thread(self._host.folders.remove_storage, namespace, name)


async def _cancel(*tasks: "asyncio.Future[NoEvent] | asyncio.Future[Granted | NoEvent]") -> None:
    """Cancel tasks, and wait until they have cleared up."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
