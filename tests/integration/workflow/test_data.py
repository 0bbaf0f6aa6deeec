"""The document that a workflow's workers share."""

import asyncio

import grpc

from support import edge
from support.site import ONE, RUNNING, SUCCEEDED, UNKNOWN, Flow, Site, steps
from tinkwell.api.v1 import workflow_service_pb2 as pb

MEGABYTE = 1024 * 1024


async def update(flow: Flow, data: bytes, metadata: bytes = b"{}") -> int:
    request = pb.UpdateWorkflowDataRequest(workflow_id=flow.id, data=data, metadata=metadata)
    return (await flow.site.stub.UpdateWorkflowData(request)).version


async def data(flow: Flow, version: int = 0) -> tuple[bytes, int]:
    answer = await flow.site.stub.GetWorkflowData(pb.GetWorkflowDataRequest(workflow_id=flow.id, version=version))
    return answer.data, answer.version


async def metadata(flow: Flow, version: int = 0) -> tuple[bytes, int]:
    request = pb.GetWorkflowDataRequest(workflow_id=flow.id, version=version)
    answer = await flow.site.stub.GetWorkflowMetadata(request)
    return answer.data, answer.version


async def latest(flow: Flow) -> int:
    request = pb.GetWorkflowDataRequest(workflow_id=flow.id)
    return (await flow.site.stub.GetWorkflowDataVersion(request)).version


async def test_there_is_nothing_at_first(site: Site) -> None:
    flow = await site.create()
    assert await data(flow) == (b"", 0)
    assert await metadata(flow) == (b"", 0)
    assert await latest(flow) == 0


async def test_bytes_come_back_as_they_were_written(site: Site) -> None:
    flow = await site.create()
    before = await site.last_revision()
    written = '{ "b":1.10,\n\t"a" : "é\\u00e9" , "n": 123456789012345678901234567890 }'.encode()
    about = b' {"z": 1, "a": 2} '
    assert await update(flow, written, about) == 1
    assert await data(flow) == (written, 1)
    assert await data(flow, 1) == (written, 1)
    assert await metadata(flow) == (about, 1)
    assert await latest(flow) == 1
    # Of a longer one nothing is left behind a shorter one.
    await update(flow, b"{}", b"{}")
    assert await data(flow) == (b"{}", 2)
    assert await site.last_revision() == before


async def test_any_json_will_do_and_metadata_may_be_left_out(site: Site) -> None:
    flow = await site.create()
    for text in (b"null", b"[]", b'"x"', b"1"):
        version = await update(flow, text, b"")
        assert await data(flow) == (text, version)
        assert await metadata(flow) == (b"{}", version)


async def test_only_the_newest_three_versions_keep_their_data(site: Site) -> None:
    flow = await site.create()
    for number in range(1, 6):
        assert await update(flow, b"%d" % number, b"[%d]" % number) == number
    for number in (3, 4, 5):
        assert await data(flow, number) == (b"%d" % number, number)
    for number in (1, 2):
        request = pb.GetWorkflowDataRequest(workflow_id=flow.id, version=number)
        told = await edge.refused(site.stub.GetWorkflowData(request))
        assert told.code is grpc.StatusCode.NOT_FOUND
        assert told.metadata == {"resource_type": "WORKFLOW_DATA", "resource_id": f"{flow.id} version {number}"}
    assert [await metadata(flow, number) for number in range(1, 6)] == [(b"[%d]" % n, n) for n in range(1, 6)]
    assert await latest(flow) == 5


async def test_a_version_that_never_was_is_not_found_and_a_negative_one_is_refused(site: Site) -> None:
    flow = await site.create()
    await update(flow, b"1")
    for version, code in ((2, "NOT_FOUND"), (2**31 - 1, "NOT_FOUND"), (-1, "INVALID_ARGUMENT")):
        request = pb.GetWorkflowDataRequest(workflow_id=flow.id, version=version)
        for call in (site.stub.GetWorkflowData(request), site.stub.GetWorkflowMetadata(request)):
            assert (await edge.refused(call)).code is grpc.StatusCode[code]


async def test_of_writers_at_once_each_gets_its_own_version(site: Site) -> None:
    flow = await site.create()
    versions = await asyncio.gather(*(update(flow, b"%d" % number) for number in range(20)))
    assert sorted(versions) == list(range(1, 21))
    assert await data(flow) == (b"%d" % versions.index(20), 20)


async def test_what_is_not_json_or_too_large_is_refused_and_writes_nothing(site: Site) -> None:
    flow = await site.create()
    for document, about, field in (
        (b"", b"{}", "data"),
        (b"{", b"{}", "data"),
        (b"\xff", b"{}", "data"),
        (b'"\\u0000"', b"{}", "data"),
        (b'{"a": 1, "a": 2}', b"{}", "data"),
        (b"[" * 1_000, b"{}", "data"),
        (b'"' + b"x" * 2 * MEGABYTE + b'"', b"{}", "data"),
        (b"{}", b"x", "metadata"),
        (b"{}", b'"' + b"x" * MEGABYTE + b'"', "metadata"),
    ):
        request = pb.UpdateWorkflowDataRequest(workflow_id=flow.id, data=document, metadata=about)
        told = await edge.refused(site.stub.UpdateWorkflowData(request))
        assert (told.code, list(told.fields)) == (grpc.StatusCode.INVALID_ARGUMENT, [field])
    assert await latest(flow) == 0


async def test_a_document_of_two_megabytes_is_kept(site: Site) -> None:
    flow = await site.create()
    document, about = [b'"' + b"x" * (size * MEGABYTE - 2) + b'"' for size in (2, 1)]
    await update(flow, document, about)
    assert await data(flow) == (document, 1)
    assert await metadata(flow) == (about, 1)


async def test_a_report_tells_the_latest_version(site: Site) -> None:
    flow = await site.create(steps(2))
    assert (await flow.report(0, RUNNING)).data_version == 0
    await update(flow, b"{}")
    assert (await flow.report(0, RUNNING)).data_version == 1
    await update(flow, b"[]")
    assert (await flow.report(0, SUCCEEDED)).data_version == 2
    together = pb.ReportActionStatusesRequest(
        reports=[
            pb.ReportActionStatusRequest(
                workflow_id=flow.id, action_id=flow.actions[1].id, worker_id=ONE, state=state, attempt=1
            )
            for state in (RUNNING, SUCCEEDED)
        ]
    )
    outcomes = (await site.stub.ReportActionStatuses(together)).outcomes
    assert [outcome.reported.data_version for outcome in outcomes] == [2, 2]


async def test_a_finished_workflow_may_still_be_written_to(site: Site) -> None:
    flow = await site.create()
    await flow.succeed(0)
    assert await update(flow, b"{}") == 1


async def test_a_workflow_that_is_not_there_or_deleted_has_no_document(site: Site) -> None:
    flow = await site.create()
    await update(flow, b"{}")
    await site.stub.DeleteWorkflow(pb.DeleteWorkflowRequest(id=flow.id))
    for workflow_id, code in (
        (flow.id, "NOT_FOUND"),
        (UNKNOWN, "NOT_FOUND"),
        ("", "INVALID_ARGUMENT"),
        ("x", "INVALID_ARGUMENT"),
    ):
        read = pb.GetWorkflowDataRequest(workflow_id=workflow_id)
        for call in (
            site.stub.GetWorkflowData(read),
            site.stub.GetWorkflowMetadata(read),
            site.stub.GetWorkflowDataVersion(read),
            site.stub.GetWorkflowData(pb.GetWorkflowDataRequest(workflow_id=workflow_id, version=1)),
            site.stub.UpdateWorkflowData(pb.UpdateWorkflowDataRequest(workflow_id=workflow_id, data=b"{}")),
        ):
            assert (await edge.refused(call)).code is grpc.StatusCode[code]
