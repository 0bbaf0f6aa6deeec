"""The data of Tinkerbell's events, also of rows that only psql could have stored."""

import json

import pytest

from tinkwell.api.tink import events_pb2
from tinkwell.api.v1 import event_service_pb2
from tinkwell.server.tink import event_message

ID = "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11"


def data_of(metadata: str) -> str:
    event = event_service_pb2.Event(
        resource_id=ID,
        resource_type=event_service_pb2.RESOURCE_TYPE_HARDWARE,
        event_type=event_service_pb2.EVENT_TYPE_UPDATED,
        data=f'{{"id": "{ID}", "metadata": {metadata}, "network": {{}}}}',
    )
    return event_message.event(event).data.decode()


def test_metadata_is_text_that_means_the_same() -> None:
    text = json.loads(data_of('{"a": [1.10, 12345678901234567890, "\\u00e9\\"", null]}'))["data"]["metadata"]
    assert json.loads(text) == {"a": [1.10, 12345678901234567890, 'é"', None]}
    assert "1.10" in text


@pytest.mark.parametrize("metadata", ["9" * 5_000, "[" * 50_000 + "]" * 50_000], ids=["digits", "depth"])
def test_what_cannot_be_read_leaves_an_object_with_the_id(metadata: str) -> None:
    assert json.loads(data_of(metadata)) == {"id": ID}


def test_every_change_of_a_workflow_has_a_type() -> None:
    told = {kind for kinds in event_message.EVENT_TYPES.values() for kind in kinds}
    of_workflows = {name for name, _ in event_service_pb2.EventType.items() if name.startswith("EVENT_TYPE_WORKFLOW_")}
    assert of_workflows <= {f"EVENT_TYPE_{kind}" for kind in told}
    assert set(event_message.EVENT_TYPES) == set(events_pb2.EventType.values()) - {0}
