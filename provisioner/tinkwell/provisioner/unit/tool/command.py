"""What each tool does. Names, arguments and answers are those that charms' scripts know."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.provisioner.unit import attempt as attempts
from tinkwell.provisioner.unit.attempt import Attempt
from tinkwell.provisioner.unit.tool import answer, relation, usage
from tinkwell.provisioner.unit.tool.usage import Arguments, Misused, Usage

STATUSES = ("active", "blocked", "maintenance", "waiting")
LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_FAILED, _MISUSED = 1, 2

_FORMAT = {"--format": "format"}
_FILE = _FORMAT | {"--file": "file"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: how it may be called, and what does it, from arguments and the content of `--file`."""

    usage: Usage
    run: Callable[[Attempt, Arguments, bytes], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Result:
    """How a call ends, and what it says."""

    code: int = 0
    out: str = ""
    err: str = ""


async def call(attempt: Attempt, name: str, given: Sequence[str], content: bytes) -> Result:
    """Call a tool by its name."""
    tool = TOOLS.get(name)
    if tool is None:
        return Result(_MISUSED, err=f"ERROR {name} is no tool; there are {', '.join(TOOLS)}\n")
    try:
        arguments = usage.parse(tool.usage, given)
        style = arguments.format
        value = await tool.run(attempt, arguments, content)
    except Misused as error:
        return Result(_MISUSED, err=f"ERROR {error}\n")
    except attempts.Refused as error:
        return Result(_FAILED, err=f"ERROR {error}\n")
    return Result(out="" if value is _NOTHING else answer.write(value, style))


class _Nothing:
    """What a tool answers that has no answer."""


_NOTHING = _Nothing()


async def _config_get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    config = attempt.given.config
    if arguments.rest:
        return config.get(arguments.rest[0])
    return {key: value for key, value in config.items() if value is not None}


async def _relation_set(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    await relation.change(attempt, arguments, content)
    return _NOTHING


async def _is_leader(attempt: Attempt, _arguments: Arguments, _content: bytes) -> object:
    return await attempt.is_leader()


async def _status_set(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    if "application" in arguments.switches:
        raise Misused("--application: an application's status comes from its units; set this unit's")
    name, message = arguments.rest[0], " ".join(arguments.rest[1:])
    if name not in STATUSES:
        raise Misused(f"{name!r} is no status; use one of {', '.join(STATUSES)}")
    await attempt.set_status(attempts.Status(name=name, message=message))
    return _NOTHING


async def _status_get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    if "application" in arguments.switches:
        raise Misused("--application: an application's status comes from its units; get this unit's")
    status = attempt.status
    if "data" not in arguments.switches:
        return status.name
    return {"status": status.name, "message": status.message, "status-data": {}}


async def _log(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    level = arguments.flags.get("level", "INFO").upper()
    if level not in LEVELS:
        raise Misused(f"{level!r} is no level; use one of {', '.join(LEVELS)}")
    await attempt.log("DEBUG" if "debug" in arguments.switches else level, " ".join(arguments.rest))
    return _NOTHING


async def _storage_get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    name = arguments.flags.get("storage") or attempt.given.occasion.storage
    if not name:
        raise Misused("no storage is given, and the event is about none: give its name with -s")
    if name not in attempt.given.storages:
        raise attempts.Refused(f'storage "{name}" not found')
    found = {"kind": "filesystem", "location": attempt.given.storages[name]}
    return found.get(arguments.rest[0]) if arguments.rest else found


async def _state_get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    return attempt.state.get(arguments.rest[0]) if arguments.rest else dict(attempt.state)


async def _state_set(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    attempt.edit_state(await usage.given_pairs(arguments, content))
    return _NOTHING


async def _state_delete(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    attempt.edit_state(dict.fromkeys(arguments.rest))
    return _NOTHING


_APPLICATION = {"--application": "application"}

TOOLS: Mapping[str, Tool] = {
    "config-get": Tool(Usage(_FORMAT, {"--all": "all", "-a": "all"}, most=1), _config_get),
    "is-leader": Tool(Usage(_FORMAT, {}, most=0), _is_leader),
    "juju-log": Tool(Usage({"--log-level": "level", "-l": "level"}, {"--debug": "debug"}, least=1), _log),
    "relation-get": Tool(relation.GET, relation.get),
    "relation-ids": Tool(relation.IDS, relation.ids),
    "relation-list": Tool(relation.LIST, relation.members),
    "relation-set": Tool(relation.SET, _relation_set),
    "state-delete": Tool(Usage({}, {}, least=1), _state_delete),
    "state-get": Tool(Usage(_FORMAT, {}, most=1), _state_get),
    "state-set": Tool(Usage(_FILE, {}), _state_set),
    "status-get": Tool(Usage(_FORMAT, {"--include-data": "data"} | _APPLICATION, most=0), _status_get),
    "status-set": Tool(Usage({}, _APPLICATION, least=1), _status_set),
    "storage-get": Tool(Usage(_FORMAT | {"-s": "storage", "--storage": "storage"}, {}, most=1), _storage_get),
}
