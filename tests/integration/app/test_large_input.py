"""What takes long to read is read aside: whoever else asks is answered meanwhile."""

import asyncio
import json
import threading
import uuid
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest

from tinkwell.client import Client
from tinkwell.core.hardware import network
from tinkwell.core.value import document

LARGE = json.dumps({"items": [*range(10_000)]})


def publish(client: Client) -> Awaitable[object]:
    return client.events.publish("rack.opened", data=LARGE)


def push(client: Client) -> Awaitable[object]:
    interfaces = [{"dhcp": {"name_servers": [f"192.168.0.{server}" for server in range(64)]}} for _ in range(10)]
    return client.hardware.push({"id": str(uuid.uuid4()), "network": {"interfaces": interfaces}})


@pytest.mark.parametrize(
    ("module", "function", "ask"),
    [(document, "parse_json_object", publish), (network, "normalise", push)],
    ids=["event", "machine"],
)
async def test_others_are_answered_while_what_is_large_is_read(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    function: str,
    ask: Callable[[Client], Awaitable[object]],
) -> None:
    has_begun, may_end = threading.Event(), threading.Event()
    read = getattr(module, function)

    def wait_and_read(*given: Any, **more: Any) -> object:
        has_begun.set()
        assert may_end.wait(10)
        return read(*given, **more)

    monkeypatch.setattr(module, function, wait_and_read)
    asked = asyncio.ensure_future(ask(client))
    try:
        assert await asyncio.to_thread(has_begun.wait, 10)
        assert [found.name async for found in client.templates.list()] == []
        assert not asked.done()
    finally:
        may_end.set()
    await asked
