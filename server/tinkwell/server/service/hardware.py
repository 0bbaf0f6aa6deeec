"""Machines: pushed, found, listed, deleted, and heard of."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

from tinkwell.core import document, errors, record, value
from tinkwell.core.kind import ResourceType
from tinkwell.server.service import hardware_bulk, hardware_check
from tinkwell.server.store import hardware
from tinkwell.server.store.database import Database, Transaction

MAX_CALL_BYTES = 64 * 1024

_PARSE: Mapping[hardware.Key, Callable[[str, str], str]] = {
    "id": value.parse_uuid,
    "mac": value.parse_mac,
    "ip": value.parse_ip,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Pushed:
    """A machine's version after a push, and the revision of its event; 0 when the push changed nothing."""

    version: int
    revision: int


class HardwareService:
    """What can be done to machines. Whatever takes an id or an address raises `errors.InvalidField` for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._checker = hardware_check.Checker()
        self._bulk = hardware_bulk.BulkPush(database, self._checker)

    async def push(self, sent: hardware_check.Sent, *, actor: str) -> Pushed:
        """Create a machine, replace it, or bring it back.

        Raises `errors.InvalidField` for all that is wrong, `errors.AlreadyExists` for a MAC or IP address of another
        machine, and `errors.LostRace` unless the machine has the expected version (0: unless there is none).
        """
        machine = await self._checker.check(sent)

        async def work(transaction: Transaction) -> int:
            await hardware_check.check_size(transaction, machine)
            return await _push(transaction, machine)

        try:
            written = await self._database.write(work, actor=actor)
        except errors.AlreadyExists as taken:
            raise await hardware_check.with_owner(self._database, taken) from taken
        return Pushed(written.value, written.revision)

    async def push_many(
        self,
        messages: AsyncIterator[Sequence[hardware_check.Sent]],
        *,
        invite: hardware_bulk.Invite,
        report: hardware_bulk.Report,
        actor: str,
    ) -> None:
        """Push machines one after another, in few transactions; see `hardware_bulk`."""
        await self._bulk.run(messages, invite=invite, report=report, actor=actor)

    async def find(self, key: hardware.Key, address: str) -> record.Hardware:
        """Return the machine of an id, a MAC or an IP address. Raises `errors.NotFound`."""
        address = _PARSE[key](key, address)
        found = await self._database.read(lambda connection: hardware.find(connection, key, address))
        if found is None:
            raise errors.NotFound(ResourceType.HARDWARE, address)
        return found

    async def list_all(self) -> AsyncGenerator[record.Hardware, None]:
        """Yield every machine of one moment, oldest first."""
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(hardware.list_live(connection)) as machines,
        ):
            async for machine in machines:
                yield machine

    async def delete(self, hardware_id: str, *, actor: str) -> int:
        """Delete a machine and return the revision. Raises `errors.NotFound`, also for one that is deleted already."""
        hardware_id = value.parse_uuid("id", hardware_id)

        async def work(transaction: Transaction) -> None:
            if not await hardware.mark_deleted(transaction.connection, hardware_id):
                raise errors.NotFound(ResourceType.HARDWARE, hardware_id)

        return (await self._database.write(work, actor=actor)).revision

    async def phone_home(self, key: hardware.Key, address: str, data: str, *, actor: str) -> int:
        """Record that a machine announced itself, with a JSON object of its own, and return the event's revision.

        Raises `errors.NotFound`.
        """
        address = _PARSE[key](key, address)
        document.parse_json_object("data", data or "{}", max_bytes=MAX_CALL_BYTES)
        revision = await hardware.phone_home(self._database, key, address, data or "{}", actor=actor)
        if revision is None:
            raise errors.NotFound(ResourceType.HARDWARE, address)
        return revision


async def _push(transaction: Transaction, machine: hardware_check.Machine) -> int:
    connection, expected = transaction.connection, machine.expected_version
    version = await hardware.push(connection, machine.id, machine.metadata, machine.network, expected_version=expected)
    if version is None:
        transaction.changed = False
        stored = await hardware.live_version(connection, machine.id) or 0
        if expected not in (None, stored):
            raise hardware_check.lost_race(machine.id, stored, expected)
        return stored
    if version == 1 and expected:
        raise hardware_check.lost_race(machine.id, 0, expected)
    return version
