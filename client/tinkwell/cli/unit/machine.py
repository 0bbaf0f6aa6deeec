"""Names of machines for people: `--to` and `--machine` take hostnames and addresses, and lists show hostnames."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.unit import option
from tinkwell.core import errors
from tinkwell.core.value import parse

if TYPE_CHECKING:
    from tinkwell.client import Client, Hardware, Unit

# At most this many machines are looked up one by one. For more, all machines are listed.
_MOST_LOOKUPS = 10


async def place(client: "Client", places: Iterable[str]) -> dict[str, Any]:
    """Return the client's arguments for `--to`. Raises `Failure` if a machine does not exist."""
    given = list(places)
    if option.ANYWHERE not in given:
        return {"machines": await ids(client, given), "anywhere": False}
    if len(given) > 1:
        raise click.UsageError("--to anywhere is for all units at once; give it alone")
    return {"machines": (), "anywhere": True}


async def ids(client: "Client", given: Iterable[str]) -> list[str]:
    """Return the ids of machines that are named by id, MAC or IP address, or hostname. Raises `Failure`."""
    return [await _id(client, each) for each in given]


async def names(client: "Client", units: Iterable["Unit"]) -> Mapping[str, str]:
    """Return the names of the units' machines by id: the hostname, or the id of a machine without a hostname."""
    from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

    wanted = {each.machine for each in units if each.machine}
    found: list[Hardware] = []
    if len(wanted) > _MOST_LOOKUPS:
        found = [each async for each in client.hardware.all() if each.id in wanted]
    else:
        for machine_id in sorted(wanted):
            try:
                found.append(await client.hardware.by_id(machine_id))
            except client_errors.NotFound:
                continue  # the machine was deleted meanwhile
    return {each.id: next(iter(_hostnames(each)), each.id) for each in found}


async def _id(client: "Client", given: str) -> str:
    for read, find in (
        (parse.parse_uuid, None),
        (parse.parse_mac, client.hardware.by_mac),
        (parse.parse_ip, client.hardware.by_ip),
    ):
        try:
            key = read("", given)
        except errors.InvalidField:
            continue
        return key if find is None else (await find(key)).id
    found = [each.id async for each in client.hardware.all() if given in _hostnames(each)]
    match found:
        case [one]:
            return one
        case []:
            known = "give its id, its MAC or IP address, or its hostname; tinkwell hardware list shows all machines"
            raise failure.Failure(f"no machine has the hostname {given}; {known}")
        case _:
            raise failure.Failure(f"{len(found)} machines have the hostname {given}; give the id of one of them")


def _hostnames(machine: "Hardware") -> list[str]:
    interfaces = machine.network.get("interfaces") or []
    return [name for each in interfaces if (name := each.get("dhcp", {}).get("hostname"))]
