"""The certificates that Tinkerbell's tools have to trust, read from the file that the server presents."""

import asyncio
import logging
import re
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tinkwell.core import errors
from tinkwell.server.http.joined import Joined

logger = logging.getLogger(__name__)

# A request waits at most this long for the port of the tools.
_PATIENCE_SECONDS = 20.0
# The file may contain the private key as well, which must not leave this machine.
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----\s.+?-----END CERTIFICATE-----", re.DOTALL)


def add_to(application: Starlette, path: Path | None, *, serves: asyncio.Event) -> None:
    """Let `/cert` return the certificates of a file, if there is one, once the port for the tools answers.

    Raises the errors of `Bundle`.
    """
    if path is not None:
        application.routes.append(Route("/cert", Bundle(path, serves).answer))


class Bundle:
    """The certificates of a PEM file. Raises `OSError` if it cannot be read, `errors.Unavailable` if it has none.

    A renewed file is read again. While that fails, the former certificates are returned, because they are also still
    presented.
    """

    def __init__(self, path: Path, serves: asyncio.Event, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        self._serves = serves
        self._known = _certificates(path)
        # Shared, because threads are few, and other work needs them, too.
        self._reading = Joined(self._read)

    async def answer(self, request: Request) -> Response:
        """Answer with the certificates, once the port of the tools accepts connections.

        Tinkerbell's tools connect as soon as they have the answer, and give up if they cannot. They crash if the answer
        holds no certificate, and do not look at its status.
        """
        status = 200
        try:
            async with asyncio.timeout(self._patience_seconds):
                await self._serves.wait()
        except TimeoutError:
            status = 503
        try:
            self._known = await self._reading.ask()
        except (OSError, errors.Unavailable) as error:
            logger.warning("the certificate cannot be read again", extra={"cause": str(error)})
        return Response(self._known, status, media_type="application/x-pem-file")

    async def _read(self) -> bytes:
        return await asyncio.to_thread(_certificates, self._path)


def _certificates(path: Path) -> bytes:
    found = _CERTIFICATE.findall(path.read_bytes())
    if not found:
        raise errors.Unavailable(f"{path} holds no PEM certificate")
    return b"".join(certificate + b"\n" for certificate in found)
