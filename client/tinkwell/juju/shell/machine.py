"""Names of machines for people: `--to` takes hostnames, addresses and ids, and output shows hostnames."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tinkwell.core import errors
from tinkwell.core.value import parse
from tinkwell.juju.shell import failure
from tinkwell.juju.shell.context import Context

if TYPE_CHECKING:
    from tinkwell.client import Hardware

ANYWHERE = "anywhere"


async def ids(ctx: Context, places: Iterable[str]) -> list[str]:
    """Return the ids of machines that are named by id, MAC or IP address, or hostname. Raises `Failure`."""
    return [await _id(ctx, each) for each in places]


async def found(ctx: Context, machine_ids: Iterable[str]) -> "Mapping[str, Hardware]":
    """Return machines by their names, without those that were deleted meanwhile."""
    from tinkwell.client import errors as client_errors  # gRPC costs start-up time, see main

    machines: list[Hardware] = []
    for machine_id in sorted(set(machine_ids)):
        try:
            machines.append(await ctx.client.hardware.by_id(machine_id))
        except client_errors.NotFound:
            continue
    return {name_of(each): each for each in machines}


def name_of(machine: "Hardware") -> str:
    """Return the name of a machine: its first hostname, or else its id."""
    return next(iter(_hostnames(machine)), machine.id)


def addresses(machine: "Hardware") -> list[str]:
    """Return the IP addresses of a machine."""
    interfaces = machine.network.get("interfaces") or []
    return [ip for each in interfaces if (ip := (each.get("dhcp", {}).get("ip") or {}).get("address"))]


async def _id(ctx: Context, given: str) -> str:
    for read, find in (
        (parse.parse_uuid, None),
        (parse.parse_mac, ctx.client.hardware.by_mac),
        (parse.parse_ip, ctx.client.hardware.by_ip),
    ):
        try:
            key = read("", given)
        except errors.InvalidField:
            continue
        return key if find is None else (await find(key)).id
    same = [each.id async for each in ctx.client.hardware.all() if given in _hostnames(each)]
    match same:
        case [one]:
            return one
        case []:
            known = f"give a hostname, an address or the id of one, or {ANYWHERE} for no machine"
            raise failure.Failure(f"machine {given} not found; {known}")
        case _:
            raise failure.Failure(f"{len(same)} machines have the hostname {given}; give the id of one of them")


def _hostnames(machine: "Hardware") -> list[str]:
    interfaces = machine.network.get("interfaces") or []
    return [name for each in interfaces if (name := each.get("dhcp", {}).get("hostname"))]
