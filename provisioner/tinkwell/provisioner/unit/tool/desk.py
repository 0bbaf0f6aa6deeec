"""Answers the tools that scripts call, at a socket that only this account and the one of the scripts can open.

A call names its attempt by a context that nobody else knows, and that is over with the attempt. Attempts of many units
are served beside each other, each tool of theirs by a connection of its own.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import struct
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core.unit import limit
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.tool import frame
from tinkwell.provisioner.unit.tool.command import table
from tinkwell.provisioner.unit.tool.program import MAX_ADDRESS_BYTES

logger = logging.getLogger(__name__)

MAX_CALLS = limit.TOOL_CALLS_PER_ATTEMPT
# More connections than that at once are hung up on; a tool says so, and its script can try again.
MAX_CONNECTIONS = 256
CALL_SECONDS = 60.0
_CREDENTIALS = struct.Struct("3i")
_CONTEXT_BYTES = 16
_FAILED = 1
# Another account can open a path in the folder if it knows the name, but cannot list the folder.
_PRIVATE, _PASSAGE = 0o700, 0o711
# Context, tool, and content of a file.
_FIXED_PARTS = 3


@dataclass(slots=True)
class _Open:
    """An attempt whose scripts may call."""

    attempt: Attempt
    calls: int = 0


class Desk:
    """Answers calls of the attempts that are open. `accounts` are the numbers of those who may call."""

    def __init__(self, path: Path, accounts: Collection[int]) -> None:
        self.path = path
        self._accounts = frozenset(accounts)
        self._open: dict[str, _Open] = {}
        self.connections = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Desk"]:
        """Answer until the block ends; raises `OSError`. What a predecessor has left at the path is taken away."""
        folder = self.path.parent
        # Nobody else gets into the folder until the socket in it has its mode and its owner.
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        folder.chmod(_PRIVATE)
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        _bind(listener, self.path)
        self.path.chmod(0o600)
        if os.geteuid() == 0 and (others := self._accounts - {0}):
            os.chown(self.path, min(others), -1)
            folder.chmod(_PASSAGE)
        async with await asyncio.start_unix_server(self._serve, sock=listener, limit=frame.MAX_BYTES):
            yield self
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    @contextlib.contextmanager
    def admitting(self, attempt: Attempt) -> Iterator[str]:
        """Let an attempt's scripts call until the block ends, by the context that this yields."""
        context = secrets.token_hex(_CONTEXT_BYTES)
        self._open[context] = _Open(attempt)
        try:
            yield context
        finally:
            del self._open[context]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one call."""
        try:
            if self.connections < MAX_CONNECTIONS and self._is_admitted(writer):
                self.connections += 1
                try:
                    async with asyncio.timeout(CALL_SECONDS):
                        writer.write(frame.encode(await self._answer(await frame.read(reader))))
                        await writer.drain()
                finally:
                    self.connections -= 1
        except frame.Malformed as error:
            logger.warning("a script said what no tool says", extra={"cause": str(error)})
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            logger.debug("a tool hung up", extra={"cause": str(error) or type(error).__name__})
        finally:
            writer.close()

    def _is_admitted(self, writer: asyncio.StreamWriter) -> bool:
        """Say whether the other side runs as an account that may call, as the system knows it."""
        connection: socket.socket = writer.get_extra_info("socket")
        known = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, account, _ = _CREDENTIALS.unpack(known)
        return account in self._accounts

    async def _answer(self, parts: Sequence[bytes]) -> list[bytes]:
        if len(parts) < _FIXED_PARTS:
            raise frame.Malformed("a message lacks parts")
        context, name, content, *given = parts
        result = await self._call(context.decode(errors="replace"), name.decode(errors="replace"), given, content)
        return [str(result.code).encode(), result.out.encode(), result.err.encode()]

    async def _call(self, context: str, name: str, given: Sequence[bytes], content: bytes) -> table.Result:
        opened = self._open.get(context)
        if opened is None:
            return table.Result(_FAILED, err=f"ERROR {name}: the event that this belongs to is over\n")
        opened.calls += 1
        if opened.calls > MAX_CALLS:
            return table.Result(_FAILED, err=f"ERROR {name}: one event may make {MAX_CALLS:,} calls of tools\n")
        try:
            arguments = [argument.decode() for argument in given]
        except UnicodeDecodeError:
            return table.Result(_FAILED, err=f"ERROR {name}: an argument is not UTF-8\n")
        return await table.call(opened.attempt, name, arguments, content)


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind to a path of any length, which no address holds."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        is_short = len(os.fsencode(path)) <= MAX_ADDRESS_BYTES
        listener.bind(str(path) if is_short else f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
