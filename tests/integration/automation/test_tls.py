"""Webhooks over TLS: the connection is made by number, and the certificate must still be the host's."""

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import trustme

from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import EventType, ResourceType
from tinkwell.provisioner.automation.effect import attempt, public_address, webhook
from tinkwell.provisioner.automation.rule import evaluation, file, model

RULES = """
name: test
rules:
  - name: hook
    on: {name: rack.door_opened}
    do: {webhook: {url: "https://hook.example:PORT/", allow_private: true}}
"""
EVENT = Event(
    id="1", revision=1, resource_type=ResourceType.CUSTOM, event_type=EventType.CUSTOM, name="rack.door_opened"
)


async def resolve(host: str, port: int) -> Sequence[public_address.Address]:
    """Find every host on this machine."""
    return [ipaddress.ip_address("127.0.0.1")]


@contextlib.asynccontextmanager
async def serving(authority: trustme.CA, name: str, asked: list[str | None]) -> AsyncIterator[int]:
    """Answer over TLS with a certificate for a name; gives the port, and notes the names that were asked for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    context.sni_callback = lambda connection, asked_for, used: asked.append(asked_for)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(("name", "outcome"), [("hook.example", "DONE"), ("other.example", "FAILED")])
async def test_the_certificate_must_be_the_hosts_though_the_connection_is_made_to_an_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, outcome: str
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    asked: list[str | None] = []
    async with serving(authority, name, asked) as port:
        rules = file.parse(RULES.replace("PORT", str(port)), {}, source="test")
        action = rules.rules[0].action
        assert isinstance(action, model.PostWebhook)
        async with evaluation.Evaluator() as evaluator:
            hook = webhook.Webhook(action, evaluator, concurrency=1, resolve=resolve)
            try:
                tried = await hook.attempt(model.Effect(rule_set="test", rule=rules.rules[0], event=EVENT))
            finally:
                await hook.close()
    assert tried.outcome == attempt.Outcome(outcome), tried.detail
    assert asked == ["hook.example"]
    if outcome == "FAILED":
        assert "certificate" in tried.detail
