"""The tools that read and change the stored state of a unit."""

from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.tool import usage
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Usage

GET = Usage(FORMAT, {}, most=1)
SET = Usage({"--file": "file"}, {})
DELETE = Usage({}, {}, least=1)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read all stored values, or the value of one key."""
    return attempt.state.get(arguments.rest[0]) if arguments.rest else dict(attempt.state)


async def change(attempt: Attempt, arguments: Arguments, content: bytes) -> object:
    """Store values by their keys."""
    attempt.edit_state(await usage.given_pairs(arguments, content))
    return NOTHING


async def delete(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Delete keys."""
    attempt.edit_state(dict.fromkeys(arguments.rest))
    return NOTHING
