"""Many calls at once, and calls that fail again and again: none surfaces a conflict, and none keeps a connection."""

import asyncio
import json
from pathlib import Path
from typing import Any

import grpc

from support import server as support
from support.tink import FIRST_MAC, FIRST_WORKER, SECOND_WORKER, Tools, code, connected, fetch
from support.waiting import eventually
from tinkwell.api.tink import events_pb2, hardware_pb2, template_pb2
from tinkwell.api.tink import workflow_pb2 as pb

AT_ONCE = 20


async def test_writers_of_one_thing_do_not_fail_each_other(tools: Tools) -> None:
    await asyncio.gather(*(tools.push(metadata=f'{{"n": {number}}}') for number in range(AT_ONCE)))
    machines = [machine async for machine in tools.hardware.All(hardware_pb2.Empty(), timeout=30)]
    assert [machine.id for machine in machines] == [FIRST_WORKER]
    assert json.loads(machines[0].metadata)["n"] in range(AT_ONCE)


async def test_versions_of_data_that_are_written_at_once_get_numbers_of_their_own(machines: Tools) -> None:
    workflow_id = await machines.create_workflow(FIRST_MAC)

    async def update(number: int) -> None:
        request = pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, metadata=b"{}", data=b'{"n": %d}' % number)
        await machines.workflow.UpdateWorkflowData(request, timeout=60)

    await asyncio.gather(*map(update, range(AT_ONCE)))
    latest = await machines.workflow.GetWorkflowDataVersion(
        pb.GetWorkflowDataRequest(workflow_id=workflow_id), timeout=30
    )
    assert latest.version == AT_ONCE


async def test_what_is_not_found_costs_no_connection(database_url: str, certificate: dict[str, Path]) -> None:
    narrow: dict[str, Any] = {"tink_port": 0, "pool_size": 1, **certificate}
    async with support.running(database_url, **narrow) as server, connected(server) as tools:
        for _ in range(10):
            for call in (
                tools.hardware.Delete(hardware_pb2.DeleteRequest(id=SECOND_WORKER)),
                tools.template.DeleteTemplate(template_pb2.GetRequest(id=SECOND_WORKER)),
                tools.workflow.DeleteWorkflow(pb.GetRequest(id=SECOND_WORKER)),
            ):
                assert await code(call) is grpc.StatusCode.NOT_FOUND
        await tools.push()


async def test_watchers_that_have_gone_are_let_go(tools: Tools) -> None:
    name = events_pb2.DESCRIPTOR.services_by_name["EventsService"].full_name
    held = f'tinkwell_grpc_calls_in_flight{{method="/{name}/Watch"}} '

    async def count() -> float:
        lines = (await fetch(f"http://{tools.server.http_address}/metrics")).decode().splitlines()
        return next((float(line.removeprefix(held)) for line in lines if line.startswith(held)), 0.0)

    async def is_empty() -> bool:
        return await count() == 0

    calls = [tools.events.Watch(events_pb2.WatchRequest(), timeout=60) for _ in range(AT_ONCE)]
    for call in calls:
        await call.initial_metadata()
    assert await count() == AT_ONCE
    for call in calls:
        call.cancel()
    await eventually(is_empty, interval_seconds=0.05)
