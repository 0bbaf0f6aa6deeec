"""All services that the protos define, and which of their methods a server lacks."""

import asyncio
import contextlib
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio

import tinkwell.api.v1

_SECONDS = 10


def services() -> Iterator[Any]:
    """Give the descriptor of each service."""
    for found in pkgutil.iter_modules(tinkwell.api.v1.__path__):
        if found.name.endswith("_pb2"):
            module = importlib.import_module(f"tinkwell.api.v1.{found.name}")
            yield from module.DESCRIPTOR.services_by_name.values()


async def missing(address: str) -> list[str]:
    """Call every method with an empty request, and return those that the server does not have."""
    async with grpc.aio.insecure_channel(address) as channel:
        methods = [(service.full_name, method) for service in services() for method in service.methods]
        return [f"{name}/{method.name}" for name, method in methods if not await _answers(channel, name, method)]


async def _answers(channel: grpc.aio.Channel, service: str, method: Any) -> bool:
    streams = ("unary", "stream")
    kind = f"{streams[method.client_streaming]}_{streams[method.server_streaming]}"
    call = getattr(channel, kind)(f"/{service}/{method.name}")(iter([b""]) if method.client_streaming else b"")
    try:
        async with asyncio.timeout(_SECONDS):
            await (call.read() if method.server_streaming else call)
    except grpc.aio.AioRpcError as error:
        return error.code() is not grpc.StatusCode.UNIMPLEMENTED
    finally:
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
            await call.code()
    return True
