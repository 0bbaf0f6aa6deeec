"""The tools for the configuration, the leader, addresses, and lines of log."""

import ipaddress

from tinkwell.provisioner.unit import address as addresses
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
# An address that belongs to the unit whatever its endpoints are.
ALWAYS_BOUND = "juju-info"
_PARTS = {"--bind-address": "bind", "--ingress-address": "ingress", "--egress-subnets": "egress"}

ADDRESS = Usage(FORMAT, {}, least=1, most=1)
CONFIG = Usage(FORMAT, {"--all": "all", "-a": "all"}, most=1)
LEADER = Usage(FORMAT, {}, most=0)
LOG = Usage({"--log-level": "level", "-l": "level"}, {"--debug": "debug"}, least=1)
METRIC = Usage({"--labels": "labels", "-l": "labels"}, {}, least=1)
RESOURCE = Usage({}, {}, least=1, most=1)
NETWORK = Usage(
    FORMAT | {"-r": "relation", "--relation": "relation"}, _PARTS | {"--primary-address": "bind"}, least=1, most=1
)


async def config(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read the configuration, or one option of it."""
    found = attempt.given.config
    if arguments.rest:
        return found.get(arguments.rest[0])
    return {key: value for key, value in found.items() if value is not None}


async def is_leader(attempt: Attempt, _arguments: Arguments, _content: bytes) -> object:
    """Say whether the unit leads."""
    return await attempt.is_leader()


async def log(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Tell a line."""
    level = arguments.flags.get("level", "INFO").upper()
    if level not in LEVELS:
        raise Misused(f"{level!r} is no level; use one of {', '.join(LEVELS)}")
    await attempt.log("DEBUG" if "debug" in arguments.switches else level, " ".join(arguments.rest))
    return NOTHING


async def metric(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Tell metrics as lines; nobody gathers them."""
    if attempt.given.occasion.name != "collect-metrics":
        raise Refused("cannot add metrics: they are only taken in collect-metrics")
    for key, value in usage.pairs(arguments.rest).items():
        await attempt.log("INFO", f"metric {key}={value}")
    return NOTHING


async def network(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Give the machine's own address, which is that of every binding."""
    name, given = arguments.rest[0], attempt.given
    relation = arguments.flags.get("relation")
    if relation is not None and not any(relation in (each.id, str(number)) for number, each in given.relations.items()):
        raise Misused(f'invalid value "{relation}" for option -r: relation not found')
    if name != ALWAYS_BOUND and name not in (await attempt.world.declared()).bindings:
        raise Refused(f'no network config found for binding "{name}"')
    own = _address(attempt)
    subnets = [str(ipaddress.ip_network(own))]
    if arguments.switches:
        parts = {"bind": own, "ingress": own, "egress": subnets}
        chosen = {part: parts[part] for part in parts if part in arguments.switches}
        return next(iter(chosen.values())) if len(chosen) == 1 else chosen
    found = addresses.interface(own)
    return {
        "bind-addresses": [
            {
                "mac-address": found.mac,
                "interface-name": found.name,
                "addresses": [{"hostname": "", "value": own, "cidr": found.subnet}],
            }
        ],
        "egress-subnets": subnets,
        "ingress-addresses": [own],
    }


async def resource(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Say where the file of a resource is, which the charm's package has brought."""
    name = arguments.rest[0]
    resources = (await attempt.world.declared()).resources
    if name not in resources:
        raise Refused(f'could not download resource: resource "{name}" not found')
    path = resources[name]
    if path is None:
        raise Refused(
            f'could not download resource: the file of "{name}" is not in the package: put it below resources/{name}'
        )
    return path


async def address(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Give the machine's own address."""
    if arguments.rest[0] not in ("private-address", "public-address"):
        raise Misused(f"unknown setting {arguments.rest[0]!r}; use private-address or public-address")
    return _address(attempt)


def _address(attempt: Attempt) -> str:
    return attempt.given.addresses[0]
