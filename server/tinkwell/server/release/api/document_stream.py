"""SubmitPlan and GetWork on the wire: documents of several megabytes are sent in parts."""

from collections.abc import AsyncIterator, Mapping

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.release.record import Operation, Release, Resource
from tinkwell.core.value import parse
from tinkwell.server.release.api import message, stream
from tinkwell.server.release.service.carry.carrying import MAX_DOCUMENT_BYTES, NewPlan
from tinkwell.server.release.service.carry.work import DocumentPart, Part, Secrets

DOCUMENTS = ("manifest", "late", "plan")


async def receive_plan(
    requests: AsyncIterator[pb.SubmitPlanRequest], *, silence_seconds: float = stream.SILENCE_SECONDS
) -> NewPlan:
    """Read a plan and its documents. Raises `errors.InvalidField`, and `errors.TooSlow` if no part comes in time."""
    first = await stream.read(requests, silence_seconds)
    if first is None or not first.HasField("head"):
        raise errors.InvalidField.of("head", "is missing; the first message of the stream has it")
    documents = _Documents()
    while (request := await stream.read(requests, silence_seconds)) is not None:
        documents.add(request.document)
    return NewPlan(
        operation_id=first.head.operation_id,
        lease_token=first.head.lease_token,
        has_plugs=first.head.has_plugs,
        **documents.texts(),
    )


class _Documents:
    """Joins the parts of documents, up to the size limit.

    A wrong part is refused at the end of the stream, because a client that still writes may not learn the reason; after
    `stream.MAX_READ_BYTES` it is refused at once.
    """

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {name: [] for name in DOCUMENTS}
        self._sizes = dict.fromkeys(DOCUMENTS, 0)
        self._read_bytes = 0
        self._wrong: errors.InvalidField | None = None

    def add(self, part: pb.DocumentPart) -> None:
        """Add a part, or skip it if an earlier part was wrong. Raises `errors.InvalidField` if too much is skipped."""
        self._read_bytes += part.ByteSize()
        if self._wrong is None:
            self._wrong = self._take(part.name, part.text)
        elif self._read_bytes > stream.MAX_READ_BYTES:
            raise self._wrong
        if self._wrong is not None:
            self._parts.clear()

    def texts(self) -> Mapping[str, str]:
        """Return the documents by their names; raises `errors.InvalidField`."""
        if self._wrong is not None:
            raise self._wrong
        if not self._parts["plan"]:
            raise errors.InvalidField.of("plan", "is missing; the stream ends with it")
        return {name: "".join(found) for name, found in self._parts.items()}

    def _take(self, name: str, text: str) -> errors.InvalidField | None:
        if name not in self._parts:
            return errors.InvalidField.of("document.name", f"is {parse.show(name)}; give {', '.join(DOCUMENTS)}")
        self._parts[name].append(text)
        self._sizes[name] += len(text.encode())
        if self._sizes[name] > MAX_DOCUMENT_BYTES:
            return errors.InvalidField.of(name, f"has more than the {MAX_DOCUMENT_BYTES:,} bytes that are allowed")
        return None


def to_part(found: Part) -> pb.GetWorkResponse:
    """Build the message of a part of an operation's work."""
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
