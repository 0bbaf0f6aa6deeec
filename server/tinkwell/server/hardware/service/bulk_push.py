"""Stores many machines of one stream: with the result of single pushes, but in few transactions.

    messages ──▶ check ──▶ pending, bounded ──▶ store a batch ──▶ report

Checking and storing go on side by side. A batch takes all machines that are pending when the batch before it is
committed, so batches are small while the database is fast and large while it is slow. When a full batch is pending, no
message is read, and gRPC makes the client wait.

A machine that is refused ends the stream, and all machines before it are stored, as if each had been pushed alone. A
machine with a wrong field is refused before it is pending. A batch that the database refuses is stored in halves, until
the refused machine is alone. Each batch holds a machine once, so that the later of two pushes of a machine wins.

After a refusal the server tells the client to stop, and reads and drops what the client still sends until then. A
client that is cut off while it writes may never learn the reason: gRPC for Python reports its own failure to write
instead of the status.
"""

import asyncio
import contextlib
import dataclasses
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeAlias

from tinkwell.core import errors
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.hardware.service import check
from tinkwell.server.hardware.service.check import Sent
from tinkwell.server.hardware.store import batch as hardware_batch
from tinkwell.server.hardware.store.queries import Machine

# Revisions are drawn while a batch commits, and later events wait for it: some tens of milliseconds.
MAX_BATCH_MACHINES = 250
MAX_BATCH_CHARACTERS = 4 * 1024 * 1024
# The number of streams that store at the same time. The others wait, so that connections are left for other calls.
_WRITERS = 2

# The number of open streams. Each may hold a batch and the rest of a message, which is some megabytes.
MAX_STREAMS = 32
# The time that a client has to finish after it was told to stop.
_FAREWELL_SECONDS = 10.0

# The errors that the database may raise for one machine of a batch.
_REFUSALS = (errors.InvalidField, errors.AlreadyExists, errors.LostRace)


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How many machines of a stream are stored, how many of those changed, and the revision of the last event.

    The revision is 0 while nothing has changed. After `is_stopped` no more machines will be stored.
    """

    stored: int = 0
    changed: int = 0
    revision: int = 0
    is_stopped: bool = False


Invite: TypeAlias = Callable[[], Awaitable[None]]
Report: TypeAlias = Callable[[Progress], Awaitable[None]]


class BulkPush:
    """Stores streams of machines."""

    def __init__(self, database: Database, checker: check.Checker, *, max_streams: int = MAX_STREAMS) -> None:
        self._database = database
        self._checker = checker
        self._turn = asyncio.Semaphore(_WRITERS)
        self._streams = 0
        self._max_streams = max_streams

    async def run(self, messages: AsyncIterator[Sequence[Sent]], *, invite: Invite, report: Report, actor: str) -> None:
        """Invite the client, store the machines of all messages in order, and report after each transaction.

        Raises the error of the first machine that is refused, with `machines[1234]` before its text; any domain error
        that `messages` and `report` raise; and `errors.LimitReached` before the client is invited.
        """
        if self._streams >= self._max_streams:
            raise errors.LimitReached(f"this server takes {self._max_streams} streams of machines at once; try again")
        self._streams += 1
        try:
            await invite()
            await self._take(messages, report=report, actor=actor)
        finally:
            self._streams -= 1

    async def _take(self, messages: AsyncIterator[Sequence[Sent]], *, report: Report, actor: str) -> None:
        pending = _Pending()
        storing = _Storing(self._database, self._turn, report, actor)
        failure: errors.TinkwellError | None = None
        async with asyncio.TaskGroup() as tasks:
            checking = tasks.create_task(self._check(messages, pending), name="check machines")
            try:
                while batch := await pending.take():
                    await storing.store(batch)
                failure = pending.failure
            except errors.TinkwellError as error:
                failure = error
            if failure:
                pending.close()
                # A client that does not accept this report is cut off all the same.
                with contextlib.suppress(errors.TinkwellError):
                    await report(dataclasses.replace(storing.progress, is_stopped=True))
                await asyncio.wait({checking}, timeout=_FAREWELL_SECONDS)
                checking.cancel()
        if failure:
            raise failure

    async def _check(self, messages: AsyncIterator[Sequence[Sent]], pending: "_Pending") -> None:
        place = 0
        try:
            async for message in messages:
                if not pending.is_closed:
                    await self._check_message(message, place, pending)
                place += len(message)
        except errors.TinkwellError as error:
            pending.end(error)
        pending.end(None)

    async def _check_message(self, message: Sequence[Sent], place: int, pending: "_Pending") -> None:
        checked: list[Machine] = []
        failure: errors.InvalidField | None = None
        for number, sent in enumerate(message, start=place):
            try:
                checked.append(await self._checker.check(sent, path=f"{_name(number)}."))
            except errors.InvalidField as error:
                failure = error
                break
            # Thousands of machines may come in one message; this lets other calls run between two of them.
            await asyncio.sleep(0)
        await pending.add(checked)
        if failure:
            pending.end(failure)


class _Pending:
    """Machines that are checked but not stored. It holds at most a batch and the rest of one message."""

    def __init__(self) -> None:
        # Why no more machines follow the pending ones, or None if all went well.
        self.failure: errors.TinkwellError | None = None
        # After this, no machine is kept.
        self.is_closed = False
        self._machines: deque[Machine] = deque()
        self._characters = 0
        self._changed = asyncio.Event()

    async def add(self, machines: Sequence[Machine]) -> None:
        """Wait for room, and add the machines. If this is closed, drop them."""
        while not (self._has_room() or self.is_closed):
            await self._change()
        if not self.is_closed:
            self._machines.extend(machines)
            self._characters += sum(machine.characters for machine in machines)
            self._changed.set()

    def end(self, failure: errors.TinkwellError | None) -> None:
        """Accept no more machines, and let `take` come to an end. The first reason that is given stays."""
        if not self.is_closed:
            self.failure, self.is_closed = failure, True
            self._changed.set()

    def close(self) -> None:
        """Accept no more machines, and wake the caller that waits for room."""
        self.end(None)

    async def take(self) -> Sequence[Machine]:
        """Wait for machines, and take a batch of them. An empty batch is the end."""
        while not (self._machines or self.is_closed):
            await self._change()
        batch: dict[str, Machine] = {}
        characters = 0
        while self._machines and len(batch) < MAX_BATCH_MACHINES:
            machine = self._machines[0]
            characters += machine.characters
            if batch and (characters > MAX_BATCH_CHARACTERS or machine.id in batch):
                break
            batch[machine.id] = self._machines.popleft()
            self._characters -= machine.characters
        self._changed.set()
        return tuple(batch.values())

    async def _change(self) -> None:
        # Both sides may wait for the same change, and each checks its own condition again.
        self._changed.clear()
        await self._changed.wait()

    def _has_room(self) -> bool:
        return len(self._machines) < MAX_BATCH_MACHINES and self._characters < MAX_BATCH_CHARACTERS


class _Storing:
    """Stores the batches of one stream, and counts."""

    def __init__(self, database: Database, turn: asyncio.Semaphore, report: Report, actor: str) -> None:
        self._database = database
        self._turn = turn
        self._report = report
        self._actor = actor
        self.progress = Progress()

    async def store(self, batch: Sequence[Machine]) -> None:
        """Store a batch, or all machines before the one that is refused."""
        try:
            async with self._turn:
                written = await self._database.write(lambda transaction: _push(transaction, batch), actor=self._actor)
        except _REFUSALS as refusal:
            if len(batch) == 1:
                raise await self._named(refusal) from refusal
            half = len(batch) // 2
            await self.store(batch[:half])
            await self.store(batch[half:])
            return
        before = self.progress
        self.progress = Progress(
            before.stored + len(batch), before.changed + written.value, written.revision or before.revision
        )
        await self._report(self.progress)

    async def _named(self, refusal: errors.TinkwellError) -> errors.TinkwellError:
        """Add to an error which machine of the stream it is about: the first one that is not stored."""
        name = _name(self.progress.stored)
        match refusal:
            case errors.InvalidField():
                return errors.InvalidField(
                    errors.Violation(f"{name}.{violation.field}", violation.description)
                    for violation in refusal.violations
                )
            case errors.AlreadyExists():
                return TakenAddress(name, await check.with_owner(self._database, refusal))
            case _:
                return errors.LostRace(f"{name}: {refusal}")


class TakenAddress(errors.AlreadyExists):
    """An address of a machine of the stream belongs to another machine."""

    def __init__(self, machine: str, taken: errors.AlreadyExists) -> None:
        super().__init__(taken.what, taken.value, taken_by=taken.taken_by)
        self.args = (f"{machine}: {taken}",)


def _name(place: int) -> str:
    return f"machines[{place}]"


async def _push(transaction: Transaction, batch: Sequence[Machine]) -> int:
    """Store machines with different ids, and return how many of them changed."""
    for machine in batch:
        await check.check_size(transaction.fetch, machine)
    locked = await hardware_batch.lock(transaction.fetch, [machine.id for machine in batch])
    for machine in batch:
        found = locked.get(machine.id)
        _expect(machine, found.version if found and found.is_live else 0)
    changed = await hardware_batch.push(transaction.fetch, batch)
    for machine in batch:
        # A machine that did not exist could not be locked. If its version is not 1, another transaction has created it
        # since.
        if machine.id not in locked and changed.get(machine.id) != 1:
            _expect(machine, changed.get(machine.id, 2) - 1)
    transaction.changed = bool(changed)
    return len(changed)


def _expect(machine: Machine, stored: int) -> None:
    if machine.expected_version not in (None, stored):
        raise check.lost_race(machine.id, stored, machine.expected_version)
