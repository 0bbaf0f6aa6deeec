"""What must not come of hostile input, and how it is told."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import grpc

from support.fuzz import caller, request
from support.fuzz.bystander import Account, Wait

_CODE = grpc.StatusCode
# Every status that a call may end with. There is no exception to it: each other one, such as UNKNOWN and INTERNAL, is a
# fault of the server's, and UNAVAILABLE or DEADLINE_EXCEEDED are calls that took too long or lost the server.
EXPECTED = frozenset(
    {
        *(_CODE.OK, _CODE.INVALID_ARGUMENT, _CODE.NOT_FOUND, _CODE.ALREADY_EXISTS, _CODE.PERMISSION_DENIED),
        *(_CODE.FAILED_PRECONDITION, _CODE.ABORTED, _CODE.OUT_OF_RANGE, _CODE.RESOURCE_EXHAUSTED),
        *(_CODE.UNAUTHENTICATED, _CODE.UNIMPLEMENTED),
    }
)
# Nothing from 500 on is expected of HTTP, either.
_FIRST_FAULT = 500


@dataclass(frozen=True, slots=True)
class Record:
    """All that has happened. `complaints` are of the servers' processes and logs."""

    calls: Sequence[caller.Ended]
    requests: Sequence[request.Ended]
    attacks: Mapping[str, int]
    accounts: Mapping[str, Account]
    complaints: Sequence[str]


def judge(record: Record, *, patience_seconds: float) -> list[str]:
    """Return every violation, in a line each."""
    return [
        *record.complaints,
        *(_about_call(each) for each in record.calls if each.code is not None and each.code not in EXPECTED),
        *(_about_request(each) for each in record.requests if each.status is not None and each.status >= _FIRST_FAULT),
        *_about_waits(record, patience_seconds),
    ]


def tell(record: Record) -> Iterator[str]:
    """Tell what was done, and what came of it."""
    methods = {(each.port, each.path) for each in record.calls}
    tokens = sum(each.has_token for each in record.calls)
    yield f"{len(record.calls):,} calls of {len(methods)} methods, {tokens:,} with a token"
    codes = Counter("ended by us" if each.code is None else each.code.name for each in record.calls)
    yield "  " + ", ".join(f"{name} {count:,}" for name, count in codes.most_common())
    slowest = max(record.calls, key=lambda each: each.seconds, default=None)
    if slowest is not None:
        yield f"  the longest took {slowest.seconds:.2f} s: {slowest.case}"
    yield f"{len(record.requests):,} HTTP requests"
    statuses = Counter("none" if each.status is None else str(each.status) for each in record.requests)
    yield "  " + ", ".join(f"{name} {count:,}" for name, count in statuses.most_common())
    yield f"{sum(record.attacks.values()):,} connections: " + ", ".join(
        f"{name} {count}" for name, count in sorted(record.attacks.items())
    )
    for name, account in record.accounts.items():
        worst = f"{account.worst_seconds:.2f} s at most"
        yield f"an ordinary client of {name} asked {account.calls:,} times and waited {worst}"


def _about_call(ended: caller.Ended) -> str:
    assert ended.code is not None
    return f"{ended.case}: {ended.code.name} after {ended.seconds:.2f} s: {ended.details[:300]}"


def _about_request(ended: request.Ended) -> str:
    return f"{ended.request}: {ended.status} after {ended.seconds:.2f} s"


def _about_waits(record: Record, patience_seconds: float) -> Iterator[str]:
    for name, account in record.accounts.items():
        yield from (f"an ordinary client of {name} got no answer: {failure}" for failure in account.failures[:5])
        for wait in account.slow:
            if wait.seconds > patience_seconds:
                beside = "; ".join(_during(record, wait))
                yield f"an ordinary client of {name} waited {wait.seconds:.2f} s, during {beside}"


def _during(record: Record, wait: Wait) -> Iterator[str]:
    """Name the calls and requests that were under way, longest first."""
    known: list[caller.Ended | request.Ended] = [*record.calls, *record.requests]
    beside = [
        each for each in known if each.begun < wait.begun + wait.seconds and each.begun + each.seconds > wait.begun
    ]
    for each in sorted(beside, key=lambda each: -each.seconds)[:6]:
        subject = each.case if isinstance(each, caller.Ended) else each.request
        yield f"{each.seconds:.2f} s of {subject}"
