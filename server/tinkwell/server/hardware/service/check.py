"""Checks machines as they were sent, and converts them into the form in which they are stored."""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.hardware import network
from tinkwell.core.value import check, document, parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Fetch
from tinkwell.server.hardware.store import queries
from tinkwell.server.hardware.store.queries import Machine

_PARSERS = 2
# A document above this size, or a network with more addresses than this, is checked in a thread, so that it does not
# delay other calls.
_LARGE_BYTES = 16 * 1024
_LARGE_ADDRESSES = 500
# A document may grow at most by this factor when the database rewrites it. Numbers such as 1e308 grow most.
_LARGEST_GROWTH = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """A machine as it was sent.

    `expected_version` makes the push conditional; 0 means that the machine must not exist.
    """

    id: str
    metadata: str
    network: network.Network
    expected_version: int | None


class Checker:
    """Checks machines; it checks large ones in threads."""

    def __init__(self) -> None:
        self._aside = offload.Aside(_PARSERS)

    async def check(self, sent: Sent, *, path: str = "") -> Machine:
        """Return the machine to store. An empty `metadata` becomes `{}`.

        Raises `errors.InvalidField` with everything that is wrong. `path` is put before each field, for example
        `machines[2].`.
        """
        metadata = sent.metadata or "{}"
        data = f"{path}data"
        checks = check.Checks()
        hardware_id = checks.take(parse.parse_uuid, f"{data}.id", sent.id)
        normal = await _normal(self._aside, checks, f"{data}.network", sent.network)
        if sent.expected_version is not None:
            checks.take(parse.parse_int_range, f"{path}expected_version", sent.expected_version, low=0, high=2**63 - 1)
        if len(metadata) > _LARGE_BYTES:
            await self._aside.run(checks.take, _parse_metadata, f"{data}.metadata", metadata)
        else:
            checks.take(_parse_metadata, f"{data}.metadata", metadata)
        checks.finish()
        return Machine(hardware_id, metadata, normal, sent.expected_version)


async def check_size(fetch: Fetch, machine: Machine, *, path: str = "") -> None:
    """Refuse a machine that is too large in the database's own format, which only the database can measure."""
    limit = document.MAX_DOCUMENT_BYTES
    if len(machine.metadata.encode()) + len(machine.network.encode()) <= limit // _LARGEST_GROWTH:
        return
    of_metadata, of_network = await queries.stored_sizes(fetch, machine)
    if of_metadata + of_network > limit:
        raise errors.InvalidField.of(
            f"{path}data.metadata" if of_metadata >= of_network else f"{path}data.network",
            f"stored, the metadata has {of_metadata:,} bytes and the network {of_network:,}; "
            f"at most {limit:,} are allowed in all",
        )


def lost_race(hardware_id: str, stored: int, expected: int | None) -> errors.LostRace:
    """Return the error for a machine without the expected version. `stored` is its version, 0 if it does not exist."""
    now = f"has the version {stored}" if stored else "does not exist"
    return errors.LostRace(f"hardware {hardware_id} {now}; version {expected} was expected")


async def with_owner(database: Database, taken: errors.AlreadyExists) -> errors.AlreadyExists:
    """Add the owner of an address to the error about that address."""
    # The transaction that found the owner is over, so the owner may be gone.
    key: queries.Key = "mac" if taken.what == "mac" else "ip"
    owner = await queries.find_id(database.fetch, key, taken.value)
    return errors.AlreadyExists(taken.what, taken.value, taken_by=owner or "")


async def _normal(aside: offload.Aside, checks: check.Checks, field: str, given: network.Network) -> str:
    """Return the network in its stored form. Errors are noted in the checks."""
    addresses = sum(1 + len(each.dhcp.name_servers) + len(each.dhcp.time_servers) for each in given.interfaces)
    if addresses > _LARGE_ADDRESSES:
        return await aside.run(_normalise, checks, field, given)
    return _normalise(checks, field, given)


def _normalise(checks: check.Checks, field: str, given: network.Network) -> str:
    return network.dump(network.normalise(checks, field, given))


def _parse_metadata(field: str, text: str) -> str:
    document.parse_json_object(field, text)
    return text
