"""Tinkerbell's events: which there are, in which order, and what the command line reads in them."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import grpc
from google.protobuf import timestamp_pb2

from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_MAC, SECOND_WORKER, Tools, code
from support.tink_worker import Worker
from tinkwell.api.tink import events_pb2 as pb
from tinkwell.api.tink import hardware_pb2, template_pb2, workflow_pb2

TEMPLATE = 'version: "0.1"\nname: n\ntasks:\n  - {name: t, worker: w, actions: [{name: a, image: i}]}\n'
ALL = (pb.EVENT_TYPE_CREATED, pb.EVENT_TYPE_UPDATED, pb.EVENT_TYPE_DELETED)


def minutes_ago(minutes: float) -> timestamp_pb2.Timestamp:
    """The moment from which the command line asks for events."""
    return timestamp_pb2.Timestamp(seconds=int(time.time() - 60 * minutes))


async def watch(tools: Tools, **fields: Any) -> AsyncIterator[tuple[int, int, str, dict[str, Any]]]:
    """Yield events by resource type, event type, resource id, and data."""
    asked = {"event_types": ALL, "watch_events_from": minutes_ago(5), **fields}
    call = tools.events.Watch(pb.WatchRequest(**asked), timeout=100)
    seen = set()
    async for event in call:
        # The command line takes the time for granted, and ends at data that is no object.
        assert event.HasField("created_at")
        data = json.loads(event.data)
        assert isinstance(data, dict)
        assert data["id"] == event.resource_id
        assert event.id not in seen
        seen.add(event.id)
        yield event.resource_type, event.event_type, event.resource_id, data


async def take(count: int, events: AsyncIterator[Any]) -> list[Any]:
    """Return that many of the events."""
    return [await anext(events) for _ in range(count)]


async def test_the_last_minutes_come_first_and_then_what_happens(tools: Tools) -> None:
    await tools.push()
    events = watch(tools)
    assert [event[:3] for event in await take(1, events)] == [
        (pb.RESOURCE_TYPE_HARDWARE, pb.EVENT_TYPE_CREATED, FIRST_WORKER)
    ]
    await tools.push(metadata='{"a": 1}')
    await tools.hardware.Delete(hardware_pb2.DeleteRequest(id=FIRST_WORKER), timeout=30)
    assert [event[1] for event in await take(2, events)] == [pb.EVENT_TYPE_UPDATED, pb.EVENT_TYPE_DELETED]


async def test_a_machine_is_in_the_data_of_its_row_with_the_metadata_as_text(tools: Tools) -> None:
    metadata = '{"price": 1.10, "large": 123456789012345678901234567890, "text": "\\"\\u00e9"}'
    ip = {"address": "192.168.56.43", "netmask": "255.255.255.0", "gateway": "192.168.56.1", "family": 4}
    dhcp = {"mac": FIRST_MAC, "hostname": "node", "lease_time": 86400, "name_servers": ["192.168.56.1"], "uefi": True}
    netboot = {"allow_pxe": True, "ipxe": {"url": "http://192.168.56.4/i"}, "osie": {"kernel": "vmlinuz"}}
    network: dict[str, Any] = {"interfaces": [{"dhcp": {**dhcp, "ip": ip}, "netboot": netboot}]}
    await tools.push(metadata=metadata, network=network)
    ((_, _, _, row),) = await take(
        1, watch(tools, resource_types=[pb.RESOURCE_TYPE_HARDWARE], resource_id=FIRST_WORKER)
    )
    machine = row["data"]
    # Like Go's reader, the message takes neither a number for a text nor a text for a number.
    read = hardware_pb2.Hardware(**machine)
    assert read == hardware_pb2.Hardware(
        id=FIRST_WORKER, version=1, metadata=machine["metadata"], network=hardware_pb2.Hardware.Network(**network)
    )
    assert isinstance(machine["metadata"], str)
    assert json.loads(machine["metadata"]) == json.loads(metadata)
    assert "1.10" in machine["metadata"]
    assert row["deleted_at"] is None
    assert row["inserted_at"]


async def test_templates_and_workflows_have_the_columns_of_their_tables(tools: Tools) -> None:
    await tools.push()
    workflow_id = await tools.create_workflow(FIRST_MAC)
    (template,) = await take(1, watch(tools, resource_types=[pb.RESOURCE_TYPE_TEMPLATE]))
    assert template[3].keys() == {"id", "name", "data", "created_at", "updated_at", "deleted_at"}
    assert template[3]["data"].startswith("version:")
    (workflow,) = await take(1, watch(tools, resource_types=[pb.RESOURCE_TYPE_WORKFLOW]))
    assert workflow[2] == workflow_id
    assert workflow[3].keys() >= {"id", "template", "devices", "created_at", "updated_at", "deleted_at"}
    assert workflow[3]["template"] == template[2]
    assert workflow[3]["devices"] == {"device_0": FIRST_MAC}


async def test_the_progress_of_a_workflow_is_told_as_updates(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC, FIRST_MAC)
    worker = Worker(machines)
    stream = worker.contexts()
    await worker.take(await anext(stream))
    await stream.aclose()
    events = watch(machines, resource_types=[pb.RESOURCE_TYPE_WORKFLOW], resource_id=workflow_id)
    told = await take(4, events)
    assert [event[1] for event in told] == [pb.EVENT_TYPE_CREATED, *[pb.EVENT_TYPE_UPDATED] * 3]
    assert [event[3]["state"] for event in told] == ["PENDING", "RUNNING", "RUNNING", "SUCCEEDED"]
    await machines.workflow.DeleteWorkflow(workflow_pb2.GetRequest(id=workflow_id), timeout=30)
    assert [event[1] for event in await take(1, events)] == [pb.EVENT_TYPE_DELETED]


async def test_only_the_types_that_were_asked_for_come(tools: Tools) -> None:
    await tools.push()
    await tools.template.CreateTemplate(template_pb2.WorkflowTemplate(name="n", data=TEMPLATE), timeout=30)
    await tools.hardware.Delete(hardware_pb2.DeleteRequest(id=FIRST_WORKER), timeout=30)
    only_templates = watch(tools, resource_types=[pb.RESOURCE_TYPE_TEMPLATE])
    assert [event[0] for event in await take(1, only_templates)] == [pb.RESOURCE_TYPE_TEMPLATE]
    only_deletions = watch(tools, event_types=[pb.EVENT_TYPE_DELETED])
    assert [event[2] for event in await take(1, only_deletions)] == [FIRST_WORKER]
    anything = watch(tools, event_types=[])
    assert [event[1] for event in await take(3, anything)] == [1, 1, 3]


async def test_without_a_moment_everything_comes_and_from_the_future_only_what_is_new(tools: Tools) -> None:
    await tools.push()
    everything = watch(tools, watch_events_from=None)
    assert [event[2] for event in await take(1, everything)] == [FIRST_WORKER]
    future = timestamp_pb2.Timestamp(seconds=int(time.time()) + 3_600)
    later = tools.events.Watch(pb.WatchRequest(watch_events_from=future), timeout=100)
    await later.initial_metadata()
    await tools.push(SECOND_WORKER, SECOND_MAC)
    assert (await anext(aiter(later))).resource_id == SECOND_WORKER


async def test_equal_watches_get_the_same_events_in_the_same_order(tools: Tools) -> None:
    watches = [watch(tools) for _ in range(3)]
    gathered = [asyncio.ensure_future(take(30, events)) for events in watches]
    for number in range(30):
        await tools.push(metadata=f'{{"n": {number}}}')
    first, *others = [[json.loads(event[3]["data"]["metadata"])["n"] for event in await each] for each in gathered]
    assert first == list(range(30))
    assert others == [first, first]


async def test_a_watch_outlives_the_servers_connections_to_the_log(tools: Tools) -> None:
    await tools.push()
    events = watch(tools)
    await take(1, events)
    connection = await asyncpg.connect(tools.server.database_url)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^tinkwell '"
    )
    await connection.close()
    await tools.push(metadata='{"a": 1}')
    assert [event[1] for event in await take(1, events)] == [pb.EVENT_TYPE_UPDATED]


async def test_large_resources_are_told_in_full(tools: Tools) -> None:
    metadata = json.dumps({"blob": '"' * 200_000})
    await tools.push(metadata=metadata)
    ((_, _, _, row),) = await take(1, watch(tools))
    assert json.loads(row["data"]["metadata"]) == json.loads(metadata)


async def test_what_could_never_match_is_refused(tools: Tools) -> None:
    cases: list[dict[str, Any]] = [
        {"resource_id": "one"},
        {"event_types": [0]},
        {"event_types": [9]},
        {"resource_types": [7]},
    ]
    for fields in cases:
        assert await code(tools.events.Watch(pb.WatchRequest(**fields)).read()) is grpc.StatusCode.INVALID_ARGUMENT
