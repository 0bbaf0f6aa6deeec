"""A body that is none is refused at once, while its request is being answered; that is no fault of the server's."""

import asyncio
import logging

import pytest

from support.server import Server

DEADLINE_SECONDS = 20


@pytest.mark.parametrize("path", ["/", "/livez", "/readyz", "/metrics", "/none"])
async def test_a_body_in_pieces_that_are_none_is_refused(
    server: Server, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    host, _, port = server.http_address.rpartition(":")
    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(DEADLINE_SECONDS):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n".encode())
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert caplog.records == []
