"""`POST /phone-home`: a machine reports that it is up, with any installer's tools, such as curl or cloud-init.

The body is a JSON object or a form, and goes into the event as it is. `id` and `mac` in it are checked against the
machine that has the caller's address.

Anybody may call. So the server refuses what it can before it reads the body, and limits what one caller can use:

    a web page ─▶ kind and length ─▶ rate of the address ─▶ whose address? ─▶ rate of the machine ─▶ body ─▶ record
"""

import asyncio
import collections
import ipaddress
import math
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.server.hardware.service.enrolment import Answered, Call, WrongMachine
from tinkwell.server.hardware.service.operations import MAX_CALL_BYTES
from tinkwell.server.http import caller
from tinkwell.server.http.rate import Rate

T = TypeVar("T")

MAX_FIELDS = 1_000
# The number of calls that use the database at once, which leaves most of its connections to other calls; then the
# numbers of calls that may wait, in all and from one neighbourhood as `http.caller` defines it.
_AT_ONCE = 4
_MAX_CALLS = 200
_MAX_NEIGHBOURS = 100
# The calls and bytes of a machine become durable events, which take space in the database. A call from an unknown
# address costs only one query.
_CALLS, _CALLS_PER_SECOND = 20, 1.0
_BYTES, _BYTES_PER_SECOND = 4 * MAX_CALL_BYTES, MAX_CALL_BYTES / 8
_LOOKS, _LOOKS_PER_SECOND = 40, 4.0
_BODY_SECONDS = 10
_ANSWER_SECONDS = 10

_FORM = "application/x-www-form-urlencoded"
_JSON = ("", "application/json")

_STATUS: Mapping[type[errors.TinkwellError], int] = {
    errors.InvalidField: 400,
    WrongMachine: 403,
    errors.NotFound: 404,
    errors.AlreadyExists: 409,
    errors.LostRace: 409,
    errors.LimitReached: 429,
    errors.Unavailable: 503,
}


class Calls(Protocol):
    """Handles the calls."""

    async def whose(self, address: str) -> str:
        """Return the id of the machine with an address, or an empty text for a machine that is to be created."""

    async def take(self, call: Call) -> Answered:
        """Record a call."""


class PhoneHome:
    """The HTTP endpoint."""

    def __init__(
        self, calls: Calls, *, proxies: Sequence[caller.Network] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls = calls
        self._proxies = proxies
        self._turn = asyncio.Semaphore(_AT_ONCE)
        # The number of calls that use the database or wait for it, by neighbourhood.
        self._open: collections.Counter[caller.Network] = collections.Counter()
        self._looks: Rate[str] = Rate(burst=_LOOKS, per_second=_LOOKS_PER_SECOND, clock=clock)
        # By the machine's id, or by the address of a machine that is to be created.
        self._rates: Rate[str] = Rate(burst=_CALLS, per_second=_CALLS_PER_SECOND, clock=clock)
        self._bytes: Rate[str] = Rate(burst=_BYTES, per_second=_BYTES_PER_SECOND, clock=clock)

    async def answer(self, request: Request) -> JSONResponse:
        """Answer a request with the revision or an error."""
        try:
            return await self._answer(request)
        except _Refused as error:
            return _refusal(error.status, str(error), retry_seconds=error.retry_seconds)
        except errors.NotFound as error:
            return _refusal(404, f"no machine has the address {error.resource_id}, from which this call came")
        except errors.TinkwellError as error:
            return _refusal(next(status for kind, status in _STATUS.items() if isinstance(error, kind)), str(error))

    async def _answer(self, request: Request) -> JSONResponse:
        _check_sender(request)
        kind = _kind(request)
        _check_length(request)
        peer = request.client.host if request.client else ""
        address = caller.locate(peer, request.headers.getlist("x-forwarded-for"), self._proxies)
        _check_rate(self._looks.take(address))
        machine = await self._ask(address, lambda: self._calls.whose(address)) or address
        _check_rate(self._rates.take(machine))
        body = await _body(request)
        _check_rate(self._bytes.take(machine, len(body)))
        text, fields = _parse(kind, body)
        call = Call(address=address, hardware_id=_text_of(fields, "id"), mac=_text_of(fields, "mac"), data=text)
        answered = await self._ask(address, lambda: self._calls.take(call))
        return JSONResponse({"id": answered.hardware_id, "revision": answered.revision})

    async def _ask(self, address: str, question: Callable[[], Awaitable[T]]) -> T:
        """Query the database when it is this call's turn."""
        place = caller.neighbourhood(ipaddress.ip_address(address))
        if self._open.total() >= _MAX_CALLS or self._open[place] >= _MAX_NEIGHBOURS:
            raise _Refused(429, "too many machines call at once; try again in a moment", retry_seconds=1)
        self._open[place] += 1
        try:
            async with asyncio.timeout(_ANSWER_SECONDS), self._turn:
                return await question()
        except TimeoutError:
            raise _Refused(503, "the database does not answer; try again", retry_seconds=1) from None
        finally:
            self._open[place] -= 1
            if not self._open[place]:
                del self._open[place]


class _Refused(Exception):
    """The call is refused.

    The text says why, and `retry_seconds` says after how many seconds the caller may try again.
    """

    def __init__(self, status: int, message: str, *, retry_seconds: float = 0) -> None:
        self.status = status
        self.retry_seconds = retry_seconds
        super().__init__(message)


def _refusal(status: int, message: str, *, retry_seconds: float = 0) -> JSONResponse:
    headers = {"Retry-After": str(math.ceil(retry_seconds))} if retry_seconds else None
    return JSONResponse({"error": message}, status_code=status, headers=headers)


def _check_sender(request: Request) -> None:
    """Refuse requests of browsers, because any web page can make a browser on a machine send them."""
    if any(name == "origin" or name.startswith("sec-fetch-") for name in request.headers):
        raise _Refused(403, "a web browser sent this call; call with curl, wget or cloud-init, without Origin")


def _kind(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (*_JSON, _FORM):
        raise _Refused(415, f"the body must be application/json or {_FORM}")
    return kind


def _check_length(request: Request) -> None:
    """Refuse a body whose stated length is too large. A body without a stated length is stopped while it is read."""
    # The HTTP parser has checked that this is a number.
    if int(request.headers.get("content-length", "0")) > MAX_CALL_BYTES:
        raise _too_long()


def _check_rate(wait_seconds: float) -> None:
    if wait_seconds:
        seconds = math.ceil(wait_seconds)
        raise _Refused(
            429, f"this machine calls too often, or says too much; try again in {seconds} s", retry_seconds=seconds
        )


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_CALL_BYTES:
                    raise _too_long()
    except TimeoutError:
        raise _Refused(408, f"the body did not come within {_BODY_SECONDS} s") from None
    except ClientDisconnect:
        raise _Refused(400, "the body did not come to its end") from None
    return bytes(body)


def _too_long() -> _Refused:
    return _Refused(413, f"the body may not be larger than {MAX_CALL_BYTES:,} bytes")


def _parse(kind: str, body: bytes) -> tuple[str, Mapping[str, object]]:
    """Return the body as the text of a JSON object, and its fields."""
    if not body.strip():
        return "{}", {}
    if kind == _FORM:
        fields = _parse_form(body)
        return document.dump_json(fields), fields
    # The text is kept as it was sent, because its numbers may have more digits than Python's floats.
    parsed = document.parse_json_object("data", body, max_bytes=MAX_CALL_BYTES)
    return body.decode(), parsed


def _parse_form(body: bytes) -> dict[str, object]:
    try:
        found = urllib.parse.parse_qs(
            body.decode(), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MAX_FIELDS
        )
    except UnicodeDecodeError:
        raise errors.InvalidField.of("data", "is not UTF-8") from None
    except ValueError:
        raise errors.InvalidField.of("data", f"has more than {MAX_FIELDS:,} fields") from None
    return {name: texts[0] if len(texts) == 1 else texts for name, texts in found.items()}


def _text_of(fields: Mapping[str, object], name: str) -> str:
    text = fields.get(name, "")
    if not isinstance(text, str):
        raise errors.InvalidField.of(name, "must be a string")
    return text
