"""The tools for storages."""

from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

MAX_ADDED = 100

ADD = Usage({}, {}, least=1)
GET = Usage(FORMAT | {"-s": "storage", "--storage": "storage"}, {}, most=1)
LIST = Usage(FORMAT, {}, most=1)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Say where a storage is."""
    name = arguments.flags.get("storage") or attempt.given.occasion.storage
    if not name:
        raise Misused("no storage is given, and the event is about none: give its name with -s")
    if name not in attempt.given.storages:
        raise Refused(f'storage "{name}" not found')
    found = {"kind": "filesystem", "location": attempt.given.storages[name]}
    return found.get(arguments.rest[0]) if arguments.rest else found


async def names(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """List what is attached, or of that what the charm declares by a name."""
    wanted = arguments.rest[0] if arguments.rest else None
    return sorted(name for name in attempt.given.storages if wanted in (None, name.partition("/")[0]))


async def add(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Ask for more instances, which are attached by events of their own."""
    declared, wanted = (await attempt.world.declared()).storages, dict[str, int]()
    for argument in arguments.rest:
        name, equals, text = argument.partition("=")
        # Others write 2,1G for how many of which size; folders have none.
        count = text.partition(",")[0] if equals else "1"
        if not count.isdecimal() or not 1 <= int(count) <= MAX_ADDED:
            raise Misused(f"{argument!r} is no NAME=COUNT, where the count is from 1 to {MAX_ADDED}")
        if name not in declared:
            raise Refused(f'charm storage "{name}" not found')
        wanted[name] = wanted.get(name, 0) + int(count)
    for name, more in wanted.items():
        attempt.storages[name] = attempt.storages.get(name, 0) + more
    return NOTHING
