"""Watch, for every service that has it: translates the request, and the batches back."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import grpc.aio

from tinkwell.api.v1 import event_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.core.errors import Violation
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.event.selection import Selection
from tinkwell.core.value import parse as value
from tinkwell.server.log.watching import FromRevision, Now, Since, Start, WatchService
from tinkwell.server.rpc.watch import event_encoding

logger = logging.getLogger(__name__)

_MAX_NAMES = 100
_MAX_SINCE_SECONDS = 10 * 365 * 86_400

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


class Watches:
    """Serves `Watch` of all services; each fixes the resource types that it is about."""

    def __init__(self, service: WatchService) -> None:
        self._service = service

    async def stream(
        self, request: pb.WatchRequest, context: Context, *, resource_types: Sequence[ResourceType] = ()
    ) -> None:
        """Write encoded responses: `created` first, then batches and bookmarks until the watch ends.

        They are written here, not yielded: each generator in between would cost every idle watcher its frames.
        """
        selection, start = parse(request, resource_types)
        watch = await self._service.open(selection, start)
        reason = "closed by the client"
        logger.info("a watch begins", extra={"peer": context.peer(), "revision": watch.position})
        try:
            created = event_encoding.encode_created(revision=watch.position - 1, history_id=watch.history_id)
            await watch.deliver(context.write, greeting=created)
        except errors.TinkwellError as error:
            reason = str(error)
            raise
        finally:
            watch.close()
            logger.info("a watch ends", extra={"peer": context.peer(), "reason": reason})


def parse(request: pb.WatchRequest, fixed: Sequence[ResourceType]) -> tuple[Selection, Start]:
    """Return what the request asks for. Raises `errors.InvalidField`."""
    resource_types = _resource_types(request, fixed)
    resource_id = request.resource_id
    if resource_id:
        resource_id = value.parse_uuid("resource_id", resource_id)
        if not resource_types:
            raise errors.InvalidField.of("resource_types", "say which type the resource_id belongs to")
    selection = Selection(
        event_types=frozenset(EventType(name) for name in _names(pb.EventType, request.event_types, "event_types")),
        resource_types=frozenset(resource_types),
        names=frozenset(_event_names(request.names)),
        resource_id=resource_id,
    )
    return selection, _start(request)


def _resource_types(request: pb.WatchRequest, fixed: Sequence[ResourceType]) -> Sequence[ResourceType]:
    asked = [ResourceType(name) for name in _names(pb.ResourceType, request.resource_types, "resource_types")]
    if not fixed:
        return asked
    if foreign := [kind for kind in asked if kind not in fixed]:
        raise errors.InvalidField.of(
            "resource_types",
            f"this watch is about {', '.join(fixed)} only; {foreign[0]} is watched through EventService",
        )
    return asked or fixed


def _names(enum: "type[pb.EventType] | type[pb.ResourceType]", numbers: Iterable[int], field: str) -> list[str]:
    prefix = f"{'EVENT' if field == 'event_types' else 'RESOURCE'}_TYPE_"
    known: dict[int, str] = {number: name.removeprefix(prefix) for name, number in enum.items() if number}
    found = list(numbers)
    wrong = [
        Violation(f"{field}[{index}]", f"{number} is none of {', '.join(known.values())}")
        for index, number in enumerate(found)
        if number not in known
    ]
    if wrong:
        raise errors.InvalidField(wrong)
    return [known[number] for number in found]


def _event_names(names: Sequence[str]) -> list[str]:
    if len(names) > _MAX_NAMES:
        raise errors.InvalidField.of("names", f"at most {_MAX_NAMES} names, not {len(names)}")
    return [value.parse_event_name(f"names[{index}]", name) for index, name in enumerate(names)]


def _start(request: pb.WatchRequest) -> Start:
    history_id = value.parse_uuid("history_id", request.history_id) if request.history_id else ""
    match request.WhichOneof("start"):
        case "from_revision":
            revision = value.parse_int_range("from_revision", request.from_revision, low=1, high=2**63 - 1)
            return FromRevision(revision, history_id)
        case "now":
            if not request.now:
                raise errors.InvalidField.of("now", "set it to true, or leave it out")
            return Now()
        case "since":
            seconds = request.since.seconds + request.since.nanos / 1e9
            if not 0 <= seconds <= _MAX_SINCE_SECONDS:
                raise errors.InvalidField.of("since", "how far back to begin, from 0 seconds to ten years")
            return Since(seconds)
        case _:
            return Since()
