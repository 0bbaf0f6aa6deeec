"""Machines that announce themselves without a secret. The server identifies a caller by the address of its call.

What a caller says about itself is never trusted alone. An id or a MAC address in the call must belong to the machine
with the caller's address. Only a machine with an unknown address may choose them, and only if they are not taken.
"""

import dataclasses
import uuid

from tinkwell.core import errors
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.hardware import network
from tinkwell.core.value import parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.hardware.service.operations import HardwareService
from tinkwell.server.hardware.store import enrolment, queries


class WrongMachine(errors.TinkwellError):
    """The caller claims an id or a MAC address that the machine with its address does not have."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A phone call: its source address, the id and MAC that the caller claims (empty: none), and a JSON object."""

    address: str
    hardware_id: str = ""
    mac: str = ""
    data: str = "{}"


@dataclasses.dataclass(frozen=True, slots=True)
class Answered:
    """The machine that called, and the revision of the event."""

    hardware_id: str
    revision: int


class PhoneCalls:
    """Takes phone calls.

    With `max_enrolled` above 0, up to that many unknown machines may enrol themselves by calling.
    """

    def __init__(self, database: Database, *, max_enrolled: int = 0) -> None:
        self._database = database
        self._hardware = HardwareService(database)
        self._max_enrolled = max_enrolled

    async def whose(self, address: str) -> str:
        """Return the id of the machine that calls from an address, or an empty text for a call that would enrol one.

        Raises `errors.InvalidField`, and `errors.NotFound` for an unknown address.
        """
        address = parse.parse_ip("address", address)
        found = await queries.find_id(self._database.fetch, "ip", address)
        if found is None and not self._max_enrolled:
            raise errors.NotFound(ResourceType.HARDWARE, address)
        return found or ""

    async def take(self, call: Call) -> Answered:
        """Record a call.

        Raises `errors.InvalidField`, `errors.NotFound` for an unknown address, `WrongMachine`, and
        `errors.LimitReached` if too many machines have enrolled themselves.
        """
        call = dataclasses.replace(
            call,
            address=parse.parse_ip("address", call.address),
            hardware_id=call.hardware_id and parse.parse_uuid("id", call.hardware_id),
            mac=call.mac and parse.parse_mac("mac", call.mac),
        )
        found = await queries.find(self._database.fetch, "ip", call.address)
        if found is not None:
            _check_claims(call, found.id, found.network)
            hardware_id = found.id
        elif self._max_enrolled:
            hardware_id = await self._enrol(call)
        else:
            raise errors.NotFound(ResourceType.HARDWARE, call.address)
        actor = f"machine@{call.address}"
        return Answered(hardware_id, await self._hardware.phone_home("id", hardware_id, call.data, actor=actor))

    async def _enrol(self, call: Call) -> str:
        async def work(transaction: Transaction) -> str:
            return await _enrol(transaction, call, self._max_enrolled)

        return (await self._database.write(work, actor=f"machine@{call.address}")).value


async def _enrol(transaction: Transaction, call: Call, limit: int) -> str:
    connection = transaction.connection
    await enrolment.take_turn(connection)
    if (known := await queries.find_id(transaction.fetch, "ip", call.address)) is not None:
        # The same machine has called twice at the same time.
        transaction.changed = False
        return known
    if await enrolment.count(connection) >= limit:
        raise errors.LimitReached(f"{limit:,} machines have enrolled themselves, and no more may (max_enrolled)")
    is_free = bool(call.hardware_id) and await enrolment.is_free(connection, call.hardware_id)
    hardware_id = call.hardware_id if is_free else str(uuid.uuid4())
    is_taken = bool(call.mac) and await queries.find_id(transaction.fetch, "mac", call.mac) is not None
    dhcp = network.Dhcp(mac="" if is_taken else call.mac, ip=network.Ip(address=call.address))
    known_by = network.dump(network.Network((network.Interface(dhcp=dhcp),)))
    machine = queries.Machine(hardware_id, "{}", known_by, expected_version=0)
    pushed = await queries.push(transaction.fetch, machine, actor=None)
    if pushed is None or not pushed.is_changed:
        raise errors.LostRace(f"hardware {hardware_id} was pushed in this moment; call again")
    await enrolment.add(connection, hardware_id)
    return hardware_id


def _check_claims(call: Call, hardware_id: str, known: network.Network) -> None:
    if call.hardware_id not in ("", hardware_id):
        raise WrongMachine(f"the machine with the address {call.address} has another id than {call.hardware_id}")
    macs = {interface.dhcp.mac for interface in known.interfaces}
    if call.mac and call.mac not in macs:
        raise WrongMachine(f"the machine with the address {call.address} has no MAC address {call.mac}")
