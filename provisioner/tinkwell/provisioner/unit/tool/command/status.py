"""The tools for the status of a unit and of its application; they take effect at once."""

from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Status
from tinkwell.provisioner.unit.attempt.world import Refused
from tinkwell.provisioner.unit.tool.answer import NOTHING
from tinkwell.provisioner.unit.tool.usage import FORMAT, Arguments, Misused, Usage

STATUSES = ("active", "blocked", "maintenance", "waiting")
_APPLICATION = {"--application": "application"}

GET = Usage(FORMAT, {"--include-data": "data"} | _APPLICATION, most=0)
SET = Usage({}, _APPLICATION, least=1)
VERSION = Usage({}, {}, least=1, most=1)


async def get(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Read the unit's status, or for the leader its application's."""
    has_data = "data" in arguments.switches
    if "application" not in arguments.switches:
        return _said(attempt.status) if has_data else attempt.status.name
    if not await attempt.is_leader():
        raise Refused(f"finding application status: {attempt.given.unit} is not the leader")
    status = attempt.application_status
    if not has_data:
        return status.name
    return {"application-status": {**_said(status), "units": {attempt.given.unit: _said(attempt.status)}}}


async def change(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Set the status of the unit, or of its application."""
    name, message = arguments.rest[0], " ".join(arguments.rest[1:])
    if name not in STATUSES:
        raise Misused(f"{name!r} is no status; use one of {', '.join(STATUSES)}")
    status = Status(name=name, message=message)
    if "application" not in arguments.switches:
        await attempt.set_status(status)
    elif await attempt.is_leader():
        await attempt.set_application_status(status)
    else:
        raise Refused(f"setting application status: {attempt.given.unit} is not the leader")
    return NOTHING


async def version(attempt: Attempt, arguments: Arguments, _: bytes) -> object:
    """Say which version of its workload the unit runs."""
    await attempt.world.set_version(arguments.rest[0])
    return NOTHING


def _said(status: Status) -> dict[str, object]:
    return {"status": status.name, "message": status.message, "status-data": {}}
