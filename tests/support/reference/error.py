"""The tables of docs/reference/errors.md, made of the one table of errors and of its mirror in the client."""

from collections.abc import Iterator, Mapping

from support.reference import table
from tinkwell.api.v1 import error_reason_pb2
from tinkwell.client import errors as client
from tinkwell.server.rpc import status

# What a caller does about each.
_REMEDIES: Mapping[str, str] = {
    "INVALID_FIELD": "Correct the fields that `violations` names, and ask again.",
    "CHART_INVALID": "Correct the places in the chart or its values that `violations` names.",
    "CHARM_REFUSED": "Correct what `violations` names in the charm, or deploy it as another application.",
    "COMMIT_REFUSED": "Mend the charm; then `tinkwell unit resolve`.",
    "NOT_FOUND": "Check the id or the name; `list` shows what is there.",
    "ALREADY_EXISTS": "Take another name, or change what has it.",
    "ILLEGAL_TRANSITION": "Look at the state, which the text names; wait, or do what it says first.",
    "PLAN_STALE": "Make another plan.",
    "ENDPOINT_MISMATCH": "Name the endpoints: `APPLICATION:ENDPOINT`.",
    "NOT_LEADER": "Ask the unit that leads, which `tinkwell app status` shows.",
    "UNIT_IN_ERROR": "`tinkwell unit explain UNIT` says why; then `tinkwell unit resolve UNIT`.",
    "MACHINE_HAS_UNITS": "Remove the units from the machine, or say that they may be disturbed.",
    "MACHINE_BUSY": "Wait until the workflow `workflow_id` has ended, or cancel it. Provisioners wait by themselves.",
    "OPERATION_ACTIVE": "Wait until the operation `operation_id` has ended, or cancel it.",
    "LEASE_HELD": "Leave the work to its owner, or wait until that lease is over.",
    "LEASE_LOST": "Stop what runs, acquire another lease, and ask what is to be done.",
    "WRONG_WORKER": "Report for the actions of your own machine alone.",
    "NOT_ALLOWED": "Use a token whose role allows it ([access.md](access.md)), or have the unit granted what it needs.",
    "CHART_UNKNOWN": "Upload the chart, and ask again.",
    "SECRETS_DISABLED": "Give the server keys ([secrets.md](../how-to/secrets.md)).",
    "LOST_RACE": "Read again, and retry.",
    "COMPACTED": "List again, then watch from the revision of the list.",
    "OTHER_HISTORY": "List again, then watch from the revision of the list.",
    "TOO_SLOW": "Resume after the last revision that was received; the client library does so by itself.",
    "LIMIT_REACHED": "Close what is not needed, or raise the limit that the text names ([settings.md](settings.md)).",
    "UNAVAILABLE": "Try again; the client library does so by itself where a repetition is harmless.",
    "UNAUTHENTICATED": "Give a token: `--token` or `TINKWELL_TOKEN`.",
    "INTERNAL": "Look for `reference` in the server's log, and report the fault.",
}


def blocks() -> dict[str, str]:
    """Return the tables by their names."""
    return {
        "reasons": "\n".join(table.lines(("reason", "status", "raises", "meaning", "what to do"), _reasons())),
        "codes": "\n".join(table.lines(("status", "raises", "meaning"), _codes())),
    }


def _reasons() -> Iterator[tuple[str, ...]]:
    codes = {_name(reason): code.name for code, reason in status.CODES.values()} | {"INTERNAL": "INTERNAL"}
    for number in sorted(error_reason_pb2.ErrorReason.values())[1:]:
        reason = _name(number)
        raised = client.BY_REASON[reason]
        yield (
            table.code(reason),
            table.code(codes[reason]),
            table.code(raised.__name__),
            _meaning(raised),
            _REMEDIES[reason],
        )


def _codes() -> Iterator[tuple[str, ...]]:
    for code, raised in client.BY_CODE.items():
        yield table.code(code.name), table.code(raised.__name__), _meaning(raised)


def _name(reason: int) -> str:
    return error_reason_pb2.ErrorReason.Name(error_reason_pb2.ErrorReason.ValueType(reason)).removeprefix(
        "ERROR_REASON_"
    )


def _meaning(raised: type[client.Error]) -> str:
    return (raised.__doc__ or "").splitlines()[0]
