"""SubmitPlan and GetWork on the wire: documents of megabytes go in parts."""

import asyncio
from collections.abc import AsyncIterator

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.release.record import Operation, Release, Resource
from tinkwell.core.value import parse
from tinkwell.server.release.api import message
from tinkwell.server.release.service.carrying import MAX_DOCUMENT_BYTES, NewPlan
from tinkwell.server.release.service.work import DocumentPart, Part, Secrets

SILENCE_SECONDS = 60.0
DOCUMENTS = ("manifest", "late", "plan")


async def receive_plan(
    requests: AsyncIterator[pb.SubmitPlanRequest], *, silence_seconds: float = SILENCE_SECONDS
) -> NewPlan:
    """Read a plan and its documents.

    Raises `errors.InvalidField`, and `errors.TooSlow` when nothing comes for so long.
    """
    first = await _next(requests, silence_seconds)
    if first is None or not first.HasField("head"):
        raise errors.InvalidField.of("head", "is missing; the first message of the stream has it")
    parts: dict[str, list[str]] = {name: [] for name in DOCUMENTS}
    sizes = dict.fromkeys(DOCUMENTS, 0)
    while (request := await _next(requests, silence_seconds)) is not None:
        name, text = request.document.name, request.document.text
        if name not in parts:
            raise errors.InvalidField.of("document.name", f"is {parse.show(name)}; give {', '.join(DOCUMENTS)}")
        parts[name].append(text)
        sizes[name] += len(text.encode())
        if sizes[name] > MAX_DOCUMENT_BYTES:
            raise errors.InvalidField.of(name, f"has more than the {MAX_DOCUMENT_BYTES:,} bytes that are allowed")
    if not parts["plan"]:
        raise errors.InvalidField.of("plan", "is missing; the stream ends with it")
    return NewPlan(
        operation_id=first.head.operation_id,
        lease_token=first.head.lease_token,
        has_plugs=first.head.has_plugs,
        **{name: "".join(found) for name, found in parts.items()},
    )


async def _next(requests: AsyncIterator[pb.SubmitPlanRequest], silence_seconds: float) -> pb.SubmitPlanRequest | None:
    try:
        async with asyncio.timeout(silence_seconds):
            return await anext(requests, None)
    except TimeoutError as error:
        raise errors.TooSlow(f"the client sent nothing for {silence_seconds:g} seconds") from error


def to_part(found: Part) -> pb.GetWorkResponse:
    """Build the message of a part of what an operation works on."""
    match found:
        case Operation():
            return pb.GetWorkResponse(operation=message.operation(found))
        case Release():
            return pb.GetWorkResponse(release=message.release(found))
        case Secrets():
            return pb.GetWorkResponse(secrets=pb.Secrets(texts=sorted(found.texts)))
        case DocumentPart():
            return pb.GetWorkResponse(document=pb.DocumentPart(name=found.name, text=found.text))
        case Resource():
            return pb.GetWorkResponse(resource=message.resource(found))
        case _:
            return pb.GetWorkResponse(node=message.node(*found))
