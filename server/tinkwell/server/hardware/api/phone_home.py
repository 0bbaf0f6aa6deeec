"""`POST /phone-home`: a machine says that it is up, by what any installer has at hand, such as curl or cloud-init.

The body is a JSON object or a form, and goes into the event as it is. `id` and `mac` in it are checked against the
machine that has the caller's address.
"""

import asyncio
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Protocol

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from tinkwell.core import errors
from tinkwell.core.value import document
from tinkwell.server.hardware.service.enrolment import Answered, Call, WrongMachine
from tinkwell.server.hardware.service.operations import MAX_CALL_BYTES
from tinkwell.server.http import caller

MAX_FIELDS = 1_000
# Calls that use the database at once, so that most of its connections are left for others, and those that may wait.
_AT_ONCE = 4
_MAX_CALLS = 200
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
    """What takes the calls."""

    async def take(self, call: Call) -> Answered:
        """Record a call."""


class PhoneHome:
    """The endpoint."""

    def __init__(self, calls: Calls, *, proxies: Sequence[caller.Network] = ()) -> None:
        self._calls = calls
        self._proxies = proxies
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._open = 0

    async def answer(self, request: Request) -> JSONResponse:
        """Answer a request, with the revision or with what is wrong."""
        if self._open >= _MAX_CALLS:
            return _refused(429, "too many machines call at once; try again in a moment")
        self._open += 1
        try:
            return await self._answer(request)
        except _BadBody as error:
            return _refused(error.status, str(error))
        except errors.NotFound as error:
            return _refused(404, f"no machine has the address {error.resource_id}, from which this call came")
        except errors.TinkwellError as error:
            return _refused(next(status for kind, status in _STATUS.items() if isinstance(error, kind)), str(error))
        finally:
            self._open -= 1

    async def _answer(self, request: Request) -> JSONResponse:
        peer = request.client.host if request.client else ""
        address = caller.locate(peer, request.headers.getlist("x-forwarded-for"), self._proxies)
        text, fields = _parse(_kind(request), await _body(request))
        call = Call(address=address, hardware_id=_text_of(fields, "id"), mac=_text_of(fields, "mac"), data=text)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS), self._turn:
                answered = await self._calls.take(call)
        except TimeoutError:
            raise errors.Unavailable("the database does not answer; try again") from None
        return JSONResponse({"id": answered.hardware_id, "revision": answered.revision})


class _BadBody(Exception):
    """The body cannot be taken; the text says why."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def _refused(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)


def _kind(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (*_JSON, _FORM):
        raise _BadBody(415, f"the body must be application/json or {_FORM}")
    return kind


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_CALL_BYTES:
                    raise _BadBody(413, f"the body may not be larger than {MAX_CALL_BYTES:,} bytes")
    except TimeoutError:
        raise _BadBody(408, f"the body did not come within {_BODY_SECONDS} s") from None
    except ClientDisconnect:
        raise _BadBody(400, "the body did not come to its end") from None
    return bytes(body)


def _parse(kind: str, body: bytes) -> tuple[str, Mapping[str, object]]:
    """Return the body as the text of a JSON object, and its fields."""
    if not body.strip():
        return "{}", {}
    if kind == _FORM:
        fields = _parse_form(body)
        return document.dump_json(fields), fields
    # Kept as it was written, since numbers may have more digits than Python's have.
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
