"""Pushes, finds, lists and deletes machines, and records their calls."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.hardware.record import Hardware
from tinkwell.core.value import document, parse
from tinkwell.server.database.database import Database, Fetch, Transaction
from tinkwell.server.hardware.service import bulk_push, check
from tinkwell.server.hardware.store import queries

# A second try sees the row that another caller has just created, unless it was deleted by hand in the meantime.
_TRIES = 5
MAX_CALL_BYTES = 64 * 1024

_PARSE: Mapping[queries.Key, Callable[[str, str], str]] = {
    "id": parse.parse_uuid,
    "mac": parse.parse_mac,
    "ip": parse.parse_ip,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Pushed:
    """A machine's version after a push, and the revision of its event, which is 0 if the push changed nothing."""

    version: int
    revision: int


class HardwareService:
    """The operations on machines. Methods that take an id or an address raise `errors.InvalidField` for it."""

    def __init__(self, database: Database, *, max_streams: int = bulk_push.MAX_STREAMS) -> None:
        self._database = database
        self._checker = check.Checker()
        self._bulk = bulk_push.BulkPush(database, self._checker, max_streams=max_streams)

    async def push(self, sent: check.Sent, *, actor: str) -> Pushed:
        """Create a machine, replace it, or restore a deleted one.

        Raises `errors.InvalidField` for everything that is wrong, `errors.AlreadyExists` for a MAC or IP address of
        another machine, and `errors.LostRace` if the machine does not have the expected version (0: if it exists).
        """
        machine = await self._checker.check(sent)

        await check.check_size(self._database.fetch, machine)
        try:
            written = await self._database.change(lambda fetch: _push(fetch, machine, actor=actor))
        except errors.AlreadyExists as taken:
            raise await check.with_owner(self._database, taken) from taken
        return Pushed(written.value, written.revision)

    async def push_many(
        self,
        messages: AsyncIterator[Sequence[check.Sent]],
        *,
        invite: bulk_push.Invite,
        report: bulk_push.Report,
        actor: str,
    ) -> None:
        """Push many machines in order, in few transactions; see `bulk_push`."""
        await self._bulk.run(messages, invite=invite, report=report, actor=actor)

    async def find(self, key: queries.Key, address: str) -> Hardware:
        """Return the machine with an id, a MAC or an IP address. Raises `errors.NotFound`."""
        address = _PARSE[key](key, address)
        found = await queries.find(self._database.fetch, key, address)
        if found is None:
            raise errors.NotFound(ResourceType.HARDWARE, address)
        return found

    async def list_all(self) -> AsyncGenerator[Hardware, None]:
        """Yield every machine in one snapshot, oldest first."""
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(queries.list_live(connection)) as machines,
        ):
            async for machine in machines:
                yield machine

    async def delete(self, hardware_id: str, *, actor: str) -> int:
        """Delete a machine and return the revision.

        Raises `errors.NotFound`, also if it is deleted already, and `errors.MachineHasUnits`.
        """
        hardware_id = parse.parse_uuid("id", hardware_id)

        async def work(transaction: Transaction) -> None:
            if not await queries.mark_deleted(transaction.fetch, hardware_id):
                raise errors.NotFound(ResourceType.HARDWARE, hardware_id)
            if units := await queries.list_units(transaction.fetch, hardware_id):
                raise errors.MachineHasUnits(hardware_id, units=units, advice="remove them first")

        return (await self._database.write(work, actor=actor)).revision

    async def phone_home(self, key: queries.Key, address: str, data: str, *, actor: str) -> int:
        """Record the call of a machine, with a JSON object from the caller, and return the event's revision.

        Raises `errors.NotFound`.
        """
        address = _PARSE[key](key, address)
        document.parse_json_object("data", data or "{}", max_bytes=MAX_CALL_BYTES)
        revision = await queries.phone_home(self._database, key, address, data or "{}", actor=actor)
        if revision is None:
            raise errors.NotFound(ResourceType.HARDWARE, address)
        return revision


async def _push(fetch: Fetch, machine: queries.Machine, *, actor: str) -> tuple[int, bool]:
    expected = machine.expected_version
    for _ in range(_TRIES):
        pushed = await queries.push(fetch, machine, actor=actor)
        if pushed is not None:
            if not pushed.is_changed and expected not in (None, pushed.version):
                raise check.lost_race(machine.id, pushed.version, expected)
            return pushed.version, pushed.is_changed
    raise errors.LostRace(f"hardware {machine.id} is being changed all the time; try again")
