"""What a template costs is paid by whoever asks for it: others are answered meanwhile."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import grpc
import grpc.aio
import pytest
import trustme

from support import edge, process, role, tink
from support.server import Server
from support.waiting import eventually
from tinkwell.api.tink import template_pb2 as tink_template_pb
from tinkwell.api.tink import workflow_pb2 as tink_pb
from tinkwell.api.v1 import (
    template_service_pb2,
    template_service_pb2_grpc,
    workflow_service_pb2,
    workflow_service_pb2_grpc,
)
from tinkwell.server.template.service.rendering import MAX_WAITING, MODULE, PLACES

# Four thousand characters become half a million, and each of these is quoted fifteen times.
TEXT = (
    'version: "0.1"\nname: costly\ntasks:\n'
    "  - {name: one, worker: {{.worker}}, actions: [{name: one, image: one}]}\n# {{$x := .long}}"
    + "{{$x = print $x $x}}" * 7
    + '{{$y := printf "%q" $x}}'
    + '{{$y = printf "%q" $x}}' * 14
)
DEVICES = json.dumps({"worker": "52:54:00:10:00:03", "long": "\u202e" * 4_000}, ensure_ascii=False)
# It takes a parser some seconds.
LARGE = 'version: "0.1"\nname: large\ntasks:\n' + "".join(
    f"  - {{name: t{n}, worker: w, actions: []}}\n" for n in range(9_000)
)
SENDERS = 4
ANSWERED_IN_A_ROW = 5
Create: TypeAlias = Callable[[], Awaitable[object]]


@asynccontextmanager
async def server(database_url: str, folder: Path) -> AsyncIterator[tuple[Server, process.Process]]:
    """A server process, also for Tinkerbell's tools, for whom it needs a certificate."""
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    environment = {
        "TINKWELL_DATABASE_URL": role.url_of_server(database_url),
        "TINKWELL_THROWAWAY_DATABASE": "true",
        "TINKWELL_TINK_PORT": "0",
        "TINKWELL_TINK_CERT": str(folder / "cert.pem"),
        "TINKWELL_TINK_KEY": str(folder / "key.pem"),
    }
    arguments = ("server", "--host", "127.0.0.1", "--port", "0", "--http-port", "0")
    async with process.running(*arguments, log=folder / "server.log", environment=environment) as running:
        ready = await running.line(r"the server is ready.*grpc=(\S+) http=(\S+) tink=(\S+)")
        yield Server(ready[1], ready[2], database_url, ready[3]), running


@asynccontextmanager
async def costly(serving: Server) -> AsyncIterator[Create]:
    """What creates a costly workflow over the server's own port."""
    async with grpc.aio.insecure_channel(serving.address) as channel:
        templates = template_service_pb2_grpc.TemplateServiceStub(channel)
        made = await templates.CreateTemplate(template_service_pb2.CreateTemplateRequest(data=TEXT))
        request = workflow_service_pb2.CreateWorkflowRequest(template=made.id, hardware=DEVICES)
        yield lambda: workflow_service_pb2_grpc.WorkflowServiceStub(channel).CreateWorkflow(request)


@asynccontextmanager
async def costly_of_tinkerbell(serving: Server) -> AsyncIterator[Create]:
    """The same over the port that knows no tokens."""
    async with tink.connected(serving) as tools:
        made = await tools.template.CreateTemplate(tink_template_pb.WorkflowTemplate(name="costly", data=TEXT))
        request = tink_pb.CreateRequest(template=made.id, hardware=DEVICES)
        yield lambda: tools.workflow.CreateWorkflow(request)


@pytest.mark.parametrize("asking", [costly, costly_of_tinkerbell])
async def test_others_are_answered_within_a_second_while_costly_workflows_are_created(
    database_url: str, tmp_path: Path, asking: Callable[[Server], contextlib.AbstractAsyncContextManager[Create]]
) -> None:
    sent = itertools.count()
    told: list[grpc.aio.AioRpcError] = []

    async def send(create: Create) -> None:
        while True:
            next(sent)
            try:
                await create()
            except grpc.aio.AioRpcError as error:
                told.append(error)

    async with server(database_url, tmp_path) as (serving, _), asking(serving) as create:
        senders = [asyncio.create_task(send(create)) for _ in range(SENDERS)]
        try:
            await answered_in_a_row(serving.address)
            await eventually(lambda: len(told) >= SENDERS, deadline_seconds=30)
        finally:
            for sender in senders:
                sender.cancel()
            await asyncio.gather(*senders, return_exceptions=True)
    assert {error.code() for error in told} == {grpc.StatusCode.INVALID_ARGUMENT}
    (sentence,) = {error.details() for error in told}
    assert sentence is not None
    assert sentence.startswith("template: line 5, column ")
    assert "the template reads and writes more than 16,777,216 characters; give its functions less" in sentence


async def answered_in_a_row(address: str) -> None:
    """Wait until a client is answered some times in a row, each within a second: a loop that is busy never does so."""
    request = template_service_pb2.ListTemplatesRequest()
    count = 0
    async with asyncio.timeout(30), grpc.aio.insecure_channel(address) as channel:
        stub = template_service_pb2_grpc.TemplateServiceStub(channel)
        while count < ANSWERED_IN_A_ROW:
            count = count + 1 if await is_answered(stub.ListTemplates(request, timeout=1)) else 0


async def is_answered(call: AsyncIterable[template_service_pb2.Template]) -> bool:
    """Whether a call is answered before its deadline."""
    try:
        return [found.name async for found in call] == ["costly"]
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
            raise
        return False


async def test_a_call_that_is_cancelled_ends_the_child_that_works_on_it(database_url: str, tmp_path: Path) -> None:
    async with server(database_url, tmp_path) as (serving, running), templates_of(serving) as templates:
        call = templates.CreateTemplate(template_service_pb2.CreateTemplateRequest(data=LARGE))
        await eventually(lambda: len(children_of(running.pid)) == 1)
        call.cancel()
        await eventually(lambda: not children_of(running.pid))


async def test_more_calls_than_may_wait_for_a_child_are_refused(database_url: str, tmp_path: Path) -> None:
    request = template_service_pb2.CreateTemplateRequest(data=LARGE)
    async with server(database_url, tmp_path) as (serving, _), templates_of(serving) as templates:
        calls = [templates.CreateTemplate(request) for _ in range(PLACES + MAX_WAITING + 1)]
        done, waiting = await asyncio.wait(map(asyncio.ensure_future, calls), return_when=asyncio.FIRST_COMPLETED)
        for call in calls:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        refused = await edge.refused(done.pop())
    assert (refused.code, refused.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    assert refused.message == "templates are rendered for as many calls as may wait, 32; try again"


@asynccontextmanager
async def templates_of(serving: Server) -> AsyncIterator[template_service_pb2_grpc.TemplateServiceStub]:
    async with grpc.aio.insecure_channel(serving.address) as channel:
        yield template_service_pb2_grpc.TemplateServiceStub(channel)


def children_of(pid: int) -> list[int]:
    """The processes that a server has started to render."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int(folder.joinpath("stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and MODULE.encode() in folder.joinpath("cmdline").read_bytes():
                found.append(int(folder.name))
    return found
