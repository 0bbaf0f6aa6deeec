"""A transport that connects to the very address that it has checked.

A host name is resolved once for each request, its addresses are checked, and the connection is made to one of those,
by number. Nothing resolves the name a second time, so a name server that changes its mind in between gains nothing.
Redirects are not followed by the client, and would meet the same check. The name still stands in the request and in
the certificate that the other side must show.

A transport serves one host only: connections are kept by address, and another host on the same address must not be
reached over a connection whose certificate is for the first.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import httpx

from tinkwell.provisioner.automation.effect import public_address

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[public_address.Address]]]


class Refused(Exception):
    """The host has no address that requests may go to."""


async def resolve(host: str, port: int) -> Sequence[public_address.Address]:
    """Return the addresses of a host in the order in which they should be tried; raises `OSError`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(entry[4][0]) for entry in found]


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends requests for one host through another transport, to addresses that are checked."""

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        *,
        is_private_allowed: bool,
        resolve: Resolve = resolve,
    ) -> None:
        self._inner = inner
        self._is_private_allowed = is_private_allowed
        self._resolve = resolve

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises `Refused`, or an `httpx.TransportError`."""
        host = request.url.raw_host.decode("ascii")
        try:
            found = await self._resolve(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{host} has no address: {error}", request=request) from error
        allowed = [each for each in found if self._is_private_allowed or public_address.is_public(each)]
        if not allowed:
            raise Refused(f"{host} has no public address; allow_private lets requests go to others")
        for each in allowed[:-1]:
            try:
                return await self._inner.handle_async_request(_aimed(request, host, each))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue  # as any client does where a host has several; the last one's error is told
        return await self._inner.handle_async_request(_aimed(request, host, allowed[-1]))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


def _aimed(request: httpx.Request, host: str, target: public_address.Address) -> httpx.Request:
    """Return the request with its connection made to an address; the Host header and the TLS name stay."""
    return httpx.Request(
        method=request.method,
        url=request.url.copy_with(host=str(target)),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )
