"""Events in Tinkerbell's messages: their types, and the form of their data.

Tinkerbell's data is the row of the table. Its command line reads the machine in the row's `data`, with the metadata as
text. A template's text and a workflow's devices are given unchanged.
"""

import decimal
import json
from collections.abc import Iterable, Mapping

from tinkwell.api.tink import events_pb2 as pb
from tinkwell.api.v1 import event_service_pb2
from tinkwell.core import errors
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.core.value import document

RESOURCE_TYPES: Mapping[int, ResourceType] = {
    pb.RESOURCE_TYPE_TEMPLATE: ResourceType.TEMPLATE,
    pb.RESOURCE_TYPE_HARDWARE: ResourceType.HARDWARE,
    pb.RESOURCE_TYPE_WORKFLOW: ResourceType.WORKFLOW,
}
# Tinkerbell has no types for the progress of a workflow, which counts as a change of the workflow.
EVENT_TYPES: Mapping[int, frozenset[EventType]] = {
    pb.EVENT_TYPE_CREATED: frozenset({EventType.CREATED}),
    pb.EVENT_TYPE_UPDATED: frozenset(
        {EventType.UPDATED, *(kind for kind in EventType if kind.startswith("WORKFLOW_"))}
    ),
    pb.EVENT_TYPE_DELETED: frozenset({EventType.DELETED}),
}
_RESOURCE_NUMBERS = {
    event_service_pb2.ResourceType.Value(f"RESOURCE_TYPE_{kind}"): number for number, kind in RESOURCE_TYPES.items()
}
_EVENT_NUMBERS = {
    event_service_pb2.EventType.Value(f"EVENT_TYPE_{kind}"): number
    for number, kinds in EVENT_TYPES.items()
    for kind in kinds
}


def known(field: str, numbers: Iterable[int], table: Mapping[int, object]) -> list[int]:
    """Return the numbers. Raises `errors.InvalidField` for one that the table lacks."""
    checked = list(numbers)
    wrong = [number for number in checked if number not in table]
    if wrong:
        raise errors.InvalidField.of(field, f"{wrong[0]} is none of {', '.join(map(str, table))}")
    return checked


def event(found: event_service_pb2.Event) -> pb.Event:
    """Write an event of one of the types above. This takes long if the resource is large."""
    return pb.Event(
        id=found.id,
        resource_id=found.resource_id,
        resource_type=pb.ResourceType.ValueType(_RESOURCE_NUMBERS[found.resource_type]),
        event_type=pb.EventType.ValueType(_EVENT_NUMBERS[found.event_type]),
        created_at=found.created_at,
        data=_data(found).encode(),
    )


def _data(found: event_service_pb2.Event) -> str:
    try:
        # Numbers keep all digits, which may be more than a float's.
        stored = json.loads(found.data, parse_float=decimal.Decimal)
        return document.dump_json(_row(_RESOURCE_NUMBERS[found.resource_type], stored))
    except (ValueError, RecursionError):
        # Numbers and nesting that only psql can store.
        return document.dump_json({"id": found.resource_id})


def _row(resource_type: int, stored: Mapping[str, object]) -> dict[str, object]:
    row: dict[str, object] = {"id": stored.get("id"), "deleted_at": stored.get("deleted_at")}
    match resource_type:
        case pb.RESOURCE_TYPE_HARDWARE:
            row["inserted_at"] = stored.get("updated_at")
            row["data"] = {
                "id": stored.get("id"),
                "version": stored.get("version"),
                "metadata": document.dump_json(stored.get("metadata")),
                "network": stored.get("network"),
            }
            return row
        case pb.RESOURCE_TYPE_TEMPLATE:
            more = {"name": "name", "data": "data"}
        case _:
            more = {"template": "template_id", "devices": "hardware", "state": "state"}
    more |= {"created_at": "created_at", "updated_at": "updated_at"}
    return row | {name: stored.get(origin) for name, origin in more.items()}
