"""An ordinary client, in a process of its own, which asks twenty times a second and writes down how long it waits.

It ends with its standard input, and then writes what it found. How late its own loop is counts for nobody's fault: it
is taken off.
"""

import asyncio
import contextlib
import dataclasses
import json
import sys
import time
import urllib.parse
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from tinkwell.api.tink import template_pb2, template_pb2_grpc
from tinkwell.api.v1 import template_service_pb2, template_service_pb2_grpc

_INTERVAL_SECONDS = 0.05
_TICK_SECONDS = 0.01
_DEADLINE_SECONDS = 20.0
_SLOW_SECONDS = 0.5
_MOST_SHOWN = 50
_STOP_SECONDS = 30.0


@dataclasses.dataclass(frozen=True)
class Order:
    """Whom to ask for what: addresses by what listens there, a template's id, and a token for the gRPC port."""

    grpc: str
    open: str
    tink: str
    http: str
    template: str
    token: str
    certificate: str


@dataclasses.dataclass(frozen=True)
class Wait:
    """An answer that was long in coming, by the monotonic clock."""

    begun: float
    seconds: float


@dataclasses.dataclass
class Account:
    """How one port has answered."""

    calls: int = 0
    worst_seconds: float = 0.0
    slow: list[Wait] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)


class _Lateness:
    """How late the loop has been, at which moment."""

    def __init__(self) -> None:
        self._ticks: deque[tuple[float, float]] = deque(maxlen=10_000)

    async def run(self) -> None:
        while True:
            begun = time.monotonic()
            await asyncio.sleep(_TICK_SECONDS)
            late = time.monotonic() - begun - _TICK_SECONDS
            if late > _TICK_SECONDS:
                self._ticks.append((begun, late))

    def since(self, begun: float) -> float:
        return sum(late for moment, late in self._ticks if moment >= begun - _TICK_SECONDS)


async def _ask(question: Callable[[], Awaitable[object]], account: Account, lateness: _Lateness) -> None:
    while True:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(_DEADLINE_SECONDS):
                await question()
        except (grpc.aio.AioRpcError, OSError, TimeoutError, AssertionError) as error:
            account.failures.append(f"{type(error).__name__}: {str(error)[:500]}")
        seconds = time.monotonic() - begun
        account.calls += 1
        waited = max(0.0, seconds - lateness.since(begun)) if seconds > _SLOW_SECONDS else seconds
        account.worst_seconds = max(account.worst_seconds, waited)
        if waited > _SLOW_SECONDS and len(account.slow) < _MOST_SHOWN:
            account.slow.append(Wait(begun, waited))
        await asyncio.sleep(max(0.0, _INTERVAL_SECONDS - seconds))


async def _get(address: str) -> None:
    """Ask over a new connection, as a new client does."""
    parts = urllib.parse.urlsplit(f"http://{address}")
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:100]
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def _questions(order: Order, certificate: bytes) -> AsyncIterator[dict[str, Callable[[], Awaitable[object]]]]:
    async with contextlib.AsyncExitStack() as stack:

        async def connect(address: str) -> grpc.aio.Channel:
            return await stack.enter_async_context(grpc.aio.insecure_channel(address))

        own = template_service_pb2_grpc.TemplateServiceStub(await connect(order.grpc))
        unguarded = template_service_pb2_grpc.TemplateServiceStub(await connect(order.open))
        secure = grpc.ssl_channel_credentials(certificate)
        tink = template_pb2_grpc.TemplateServiceStub(
            await stack.enter_async_context(grpc.aio.secure_channel(order.tink, secure))
        )
        request = template_service_pb2.GetTemplateRequest(id=order.template)
        metadata = (("authorization", f"Bearer {order.token}"),)
        yield {
            "gRPC": lambda: own.GetTemplate(request, metadata=metadata),
            "gRPC without tokens": lambda: unguarded.GetTemplate(request),
            "Tinkerbell": lambda: tink.GetTemplate(template_pb2.GetRequest(id=order.template)),
            "HTTP": lambda: _get(order.http),
        }


async def _main(order: Order, certificate: bytes) -> dict[str, Any]:
    lateness = _Lateness()
    async with _questions(order, certificate) as questions:
        accounts = {name: Account() for name in questions}
        asking = [asyncio.create_task(lateness.run(), name="lateness")]
        asking += [
            asyncio.create_task(_ask(question, accounts[name], lateness)) for name, question in questions.items()
        ]
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        broken = [task for task in asking if not task.cancelled() and task.exception() is not None]
        assert not broken, broken
    return {name: dataclasses.asdict(account) for name, account in accounts.items()}


@contextlib.asynccontextmanager
async def beside(order: Order) -> AsyncIterator[dict[str, Account]]:
    """Let it ask while the block runs; what is yielded has its accounts afterwards."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "support.fuzz.bystander", json.dumps(dataclasses.asdict(order))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found: dict[str, Account] = {}
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            assert await process.stdout.readline() == b"ready\n"
        yield found
        process.stdin.close()
        async with asyncio.timeout(_STOP_SECONDS):
            for name, account in json.loads(await process.stdout.read()).items():
                account["slow"] = [Wait(**wait) for wait in account["slow"]]
                found[name] = Account(**account)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


if __name__ == "__main__":
    chosen = Order(**json.loads(sys.argv[1]))
    print(json.dumps(asyncio.run(_main(chosen, Path(chosen.certificate).read_bytes()))))
