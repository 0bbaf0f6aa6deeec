"""The tools for actions: what they are asked, and what they answer."""

from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Task
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Usage

FAIL = Usage({}, {})
GET = Usage(FORMAT, {}, most=1)
LOG = Usage({}, {}, least=1)
SET = Usage({}, {}, least=1)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read the parameters, or one of them by a path such as `backup.target`."""
    found: object = _action(attempt).parameters
    for part in arguments.rest[0].split(".") if arguments.rest else ():
        found = found.get(part) if isinstance(found, dict) else None
    return found


async def change(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Answer values by their paths."""
    _action(attempt)
    for path, value in usage.pairs(arguments.rest).items():
        attempt.result.set(path, value)
    return NOTHING


async def fail(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Say that the action has failed, and why."""
    _action(attempt)
    attempt.result.fail(" ".join(arguments.rest) or "action failed without reason given, check action for errors")
    return NOTHING


async def log(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Tell a line at once to who has asked for the action."""
    _action(attempt)
    await attempt.world.tell(" ".join(arguments.rest))
    return NOTHING


def _action(attempt: Attempt) -> Task:
    task = attempt.given.occasion.task
    if task is None:
        raise Refused("not running an action")
    return task
