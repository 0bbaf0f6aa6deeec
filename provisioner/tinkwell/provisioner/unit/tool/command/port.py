"""The tools for ports. They are recorded for the whole unit, whatever endpoints a charm names."""

from tinkwell.core.unit.effect import Port
from tinkwell.provisioner.unit.attempt import port
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

CHANGE = Usage({"--endpoints": "endpoints"} | FORMAT, {}, least=1, most=1)
OPENED = Usage(FORMAT, {"--endpoints": "endpoints"}, most=0)


async def open_ports(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Open a port, or a range of them."""
    attempt.ports.add(_read(arguments))
    return NOTHING


async def close(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Close a port, or a range of them."""
    attempt.ports.take(_read(arguments))
    return NOTHING


async def opened(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """List the ports that are open."""
    suffix = " (*)" if "endpoints" in arguments.switches else ""
    return [f"{port.write(each)}{suffix}" for each in attempt.ports.open]


def _read(arguments: Arguments) -> list[Port]:
    try:
        return port.read(arguments.rest[0])
    except Refused as error:
        raise Misused(str(error)) from error
