"""Machines: pushed, found, listed, deleted, and heard of."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Mapping

from tinkwell.core import check, document, errors, network, record, value
from tinkwell.core.kind import ResourceType
from tinkwell.server.service import aside
from tinkwell.server.store import hardware
from tinkwell.server.store.database import Database, Transaction

MAX_CALL_BYTES = 64 * 1024

_PARSERS = 2
# A document above this is parsed aside, lest it hold other calls up.
_LARGE_BYTES = 16 * 1024
# Numbers such as 1e307 are what grows most when the database writes a document in its own way.
_LARGEST_GROWTH = 64

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
        self._aside = aside.Aside(_PARSERS)

    async def push(
        self, *, hardware_id: str, metadata: str, machine: network.Network, expected_version: int | None, actor: str
    ) -> Pushed:
        """Create a machine, replace it, or bring it back; an empty `metadata` is `{}`.

        Raises `errors.InvalidField` for all that is wrong, `errors.AlreadyExists` for a MAC or IP address of another
        machine, and `errors.LostRace` unless the machine has the expected version (0: unless there is none).
        """
        metadata = metadata or "{}"
        checks = check.Checks()
        hardware_id = checks.take(value.parse_uuid, "data.id", hardware_id)
        machine = network.normalise(checks, "data.network", machine)
        if expected_version is not None:
            checks.take(value.parse_int_range, "expected_version", expected_version, low=0, high=2**63 - 1)
        await self._check_metadata(checks, metadata)
        checks.finish()
        network_text = network.dump(machine)

        async def work(transaction: Transaction) -> int:
            await _check_size(transaction, metadata, network_text)
            return await _push(transaction, hardware_id, metadata, network_text, expected_version)

        try:
            written = await self._database.write(work, actor=actor)
        except errors.AlreadyExists as taken:
            raise await self._with_owner(taken) from taken
        return Pushed(written.value, written.revision)

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

    async def _check_metadata(self, checks: check.Checks, metadata: str) -> None:
        if len(metadata) > _LARGE_BYTES:
            await self._aside.run(checks.take, _parse_metadata, "data.metadata", metadata)
        else:
            checks.take(_parse_metadata, "data.metadata", metadata)

    async def _with_owner(self, taken: errors.AlreadyExists) -> errors.AlreadyExists:
        # The transaction that met the owner is over; by now there may be none.
        key: hardware.Key = "mac" if taken.what == "mac" else "ip"
        owner = await self._database.read(lambda connection: hardware.find_id(connection, key, taken.value))
        return errors.AlreadyExists(taken.what, taken.value, taken_by=owner or "")


def _parse_metadata(field: str, text: str) -> str:
    document.parse_json_object(field, text)
    return text


async def _check_size(transaction: Transaction, metadata: str, network_text: str) -> None:
    """Refuse a machine that is too large as the database writes it, which only the database can tell."""
    limit = document.MAX_DOCUMENT_BYTES
    if len(metadata.encode()) + len(network_text.encode()) <= limit // _LARGEST_GROWTH:
        return
    of_metadata, of_network = await hardware.stored_sizes(transaction.connection, metadata, network_text)
    if of_metadata + of_network > limit:
        raise errors.InvalidField.of(
            "data.metadata" if of_metadata >= of_network else "data.network",
            f"stored, the metadata has {of_metadata:,} bytes and the network {of_network:,}; "
            f"at most {limit:,} are allowed in all",
        )


async def _push(
    transaction: Transaction, hardware_id: str, metadata: str, network_text: str, expected_version: int | None
) -> int:
    connection = transaction.connection
    version = await hardware.push(connection, hardware_id, metadata, network_text, expected_version=expected_version)
    if version is None:
        transaction.changed = False
        stored = await hardware.live_version(connection, hardware_id) or 0
        if expected_version not in (None, stored):
            raise _lost_race(hardware_id, stored, expected_version)
        return stored
    if version == 1 and expected_version:
        raise _lost_race(hardware_id, 0, expected_version)
    return version


def _lost_race(hardware_id: str, stored: int, expected: int | None) -> errors.LostRace:
    now = f"has the version {stored}" if stored else "does not exist"
    return errors.LostRace(f"hardware {hardware_id} {now}; version {expected} was expected")
