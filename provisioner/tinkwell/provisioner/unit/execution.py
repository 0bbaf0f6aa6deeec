"""Runs one attempt at an event of a unit: its script, what that asks for, and what becomes of it.

    former process ended ─▶ charm there ─▶ script ─┬─▶ success: outcome on the disk ─▶ commit ─▶ outcome dropped
                                                   └─▶ failure, or lost: told at once

Each of them ends with what the unit is to run next, or why it is to run nothing.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

from tinkwell.client import errors, retry
from tinkwell.client.unit import worker
from tinkwell.client.unit.grant import Grant, NoEvent
from tinkwell.client.unit.model import UnitStatus
from tinkwell.client.unit.outcome import Outcome
from tinkwell.core import errors as core_errors
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit import environment, folder, granted, journal, script
from tinkwell.provisioner.unit.attempt import Attempt, Given, Refused, Status
from tinkwell.provisioner.unit.granted import Granted
from tinkwell.provisioner.unit.host import Host

logger = logging.getLogger(__name__)

MAX_MESSAGE = 1_000
# What the end of an attempt is answered where the event has ended otherwise, or is to be heard again.
ENDED = (errors.CommitRefused, errors.IllegalTransition, errors.NotFound)


class Broken(Exception):
    """The event cannot be run here; the text says why, and what to do."""


class Execution:
    """An attempt that a unit was granted, and its world."""

    def __init__(self, host: Host, given: Granted) -> None:
        self._host = host
        self._granted = given
        self._grant = given.grant
        self._folder = host.folders.unit(self._grant.unit_id)
        event = self._grant.event
        self._journal = journal.Journal(
            lambda lines: host.append_logs(self._grant.unit_id, lines), ordinal=event.ordinal, attempt=event.attempt
        )

    async def run(self) -> Granted | NoEvent:
        """Run it to its end; returns what comes next. Raises an `errors.Error` where the server refuses its end."""
        fields = {"unit": self._grant.unit, "event": self._grant.event.name, "attempt": self._grant.event.attempt}
        logger.info("an event of a unit begins", extra=fields)
        try:
            attempt = Attempt(granted.given(self._grant, self._host.folders), self)
            await self._prepare(attempt.given)
            ending = await self._carry_out(attempt)
        except (Broken, OSError, state_dir.StateError) as error:
            return await self._fail(str(error))
        logger.info("an event of a unit has ended", extra=fields | {"code": ending.code, "signal": ending.signal})
        if ending.is_success:
            return await self._commit(attempt)
        return await self._fail(self._reason(ending), is_lost=bool(ending.signal) and not ending.is_late)

    def learn(self, given: Granted) -> None:
        """Take what the server says of the same attempt later on: whether its unit still leads."""
        self._granted = given

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Read a bag of others."""
        event_id = self._grant.event.id
        try:
            bag = await self._host.call(
                lambda token: self._host.api.read_bag(token, event_id, relation, owner), what="read a bag"
            )
        except errors.PermissionDenied as error:
            raise Refused(f"permission denied: {error}") from error
        except errors.Error as error:
            raise Refused(str(error)) from error
        return bag.data

    async def is_leader(self) -> bool:
        """Say whether the unit leads, asking the server once the last answer is too old."""
        if self._granted.grant.leadership.leads and not self._granted.leads:
            try:
                following = await next_event(self._host, self._grant.unit_id)
            except errors.Error as error:
                raise Refused(f"it is not known who leads: {error}") from error
            if not isinstance(following, Granted) or not self._granted.is_same(following.grant):
                return False
            self._granted = following
        return self._granted.leads

    async def set_status(self, status: Status) -> None:
        """Tell the unit's status."""
        said = UnitStatus(name=status.name, message=status.message)
        try:
            await self._host.call(
                lambda token: self._host.api.set_status(token, self._grant.unit_id, status=said), what="set a status"
            )
        except errors.Error as error:
            raise Refused(str(error)) from error

    async def log(self, level: str, message: str) -> None:
        """Tell a line."""
        await self._journal.log(level, message)

    async def _prepare(self, given: Given) -> None:
        """Have nothing run that a former attempt has left, and all there that the script needs."""
        await asyncio.to_thread(script.end_former, self._folder.record)
        if not await asyncio.to_thread(lambda: self._folder.history):
            history_id = await retry.until_answered(self._host.history, what="ask which log of events this is")
            await asyncio.to_thread(self._folder.note_history, history_id)
        for name, path in given.storages.items():
            await asyncio.to_thread(self._folder.note_storage, given.namespace, name)
            await asyncio.to_thread(Path(path).mkdir, 0o700, parents=True, exist_ok=True)
        if await asyncio.to_thread(self._folder.has_charm, self._grant.charm):
            return
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

    async def _carry_out(self, attempt: Attempt) -> script.Ending:
        """Run the event's script; where the charm has none, that is a success."""
        path = self._folder.charm / folder.HOOKS / attempt.given.occasion.name
        if not await asyncio.to_thread(path.is_file):
            return script.Ending()
        desk = self._host.desk
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(self._journal.run(), name=f"lines of {self._grant.unit}")
            with desk.admitting(attempt) as context:
                ending = await script.Script(
                    path=path,
                    environment=environment.make(
                        attempt.given,
                        charm=self._folder.charm,
                        tools=self._host.folders.tools,
                        socket=desk.path,
                        context=context,
                        machine=self._grant.machine,
                    ),
                    folder=self._folder.charm,
                    record=self._folder.record,
                    timeout_seconds=self._granted.remaining_seconds,
                ).run(self._journal.hear)
            await self._journal.finish()
            await asyncio.wait([sending], timeout=journal.LAST_SECONDS)
            sending.cancel()
        return ending

    def _reason(self, ending: script.Ending) -> str:
        if ending.is_late:
            return f"it took longer than {self._grant.timeout_seconds:,.0f} s, and was ended"
        if ending.signal:
            return f"it was ended by signal {ending.signal}"
        return f"exit {ending.code}"

    async def _commit(self, attempt: Attempt) -> Granted | NoEvent:
        event = self._grant.event
        outcome = Outcome(
            unit_id=self._grant.unit_id,
            event_id=event.id,
            attempt=event.attempt,
            lease_token=await self._host.lease.token(),
            effects=worker.encode(granted.effects(self._grant, attempt)),
        )
        await asyncio.to_thread(self._host.outcomes.keep, outcome)
        try:
            return await commit(self._host, outcome)
        except (*retry.HOPELESS, *ENDED):
            raise
        except errors.Error as error:
            # It would be given again as the same attempt, with the same end.
            return await self._fail(f"its effects are refused: {error}")

    async def _fail(self, why: str, *, is_lost: bool = False) -> Granted | NoEvent:
        event = self._grant.event
        logger.warning("an event of a unit has failed", extra={"unit": self._grant.unit, "cause": why})

        async def tell(token: int) -> Granted | NoEvent:
            asked_at = granted.now()
            return _held(
                await self._host.api.fail(token, event.id, event.attempt, why[:MAX_MESSAGE], is_lost=is_lost), asked_at
            )

        return await self._host.call(tell, what="fail an event")


async def next_event(host: Host, unit_id: str) -> Granted | NoEvent:
    """Ask what a unit is to run; raises an `errors.Error` that is the server's answer."""

    async def ask(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        return _held(await host.api.next_event(token, unit_id), asked_at)

    return await host.call(ask, what="get the next event of a unit")


async def commit(host: Host, outcome: Outcome) -> Granted | NoEvent:
    """Commit an outcome that is on the disk, and drop it once the server has judged it, whatever it says.

    Raises an `errors.Error` that is the server's answer: the event has failed then, or is another's, or no more.
    """

    async def tell(token: int) -> Granted | NoEvent:
        asked_at = granted.now()
        return _held(await host.api.commit(token, outcome.event_id, outcome.attempt, outcome.effects), asked_at)

    try:
        following = await host.call(tell, what="commit an event")
    except retry.HOPELESS:
        raise
    except errors.Error as error:
        logger.warning("an event of a unit is not committed", extra={"event": outcome.event_id, "cause": str(error)})
        await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
        raise
    await asyncio.to_thread(host.outcomes.drop, outcome.unit_id)
    return following


def _held(following: Grant | NoEvent, asked_at: float) -> Granted | NoEvent:
    return Granted(following, asked_at) if isinstance(following, Grant) else following
