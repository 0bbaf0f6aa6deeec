"""The doors through which servers reach PostgreSQL: each server has one for each of the two hosts."""

import asyncio
import contextlib
import os
import sys
import urllib.parse
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

_TESTS = Path(__file__).parents[2]
_ANSWER_SECONDS = 20


class Gateway:
    """Commands a process of `support.chaos.door`; `homes` are the folders of the sockets of the two hosts."""

    def __init__(self, process: asyncio.subprocess.Process, homes: Sequence[str]) -> None:
        self._process = process
        self._homes = homes
        self._servers: list[str] = []
        self._lock = asyncio.Lock()

    async def add(self, server: str, owner_url: str) -> str:
        """Make the doors of a server; return the URL, of the role in the owner's URL, that names both hosts."""
        ports = [
            await self._say("add", _name(server, n), f"{home}/.s.PGSQL.5432") for n, home in enumerate(self._homes)
        ]
        self._servers.append(server)
        parts = urllib.parse.urlsplit(owner_url)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        user = parts.netloc.rpartition("@")[0]
        return f"postgresql://{user}@{hosts}{parts.path}?sslmode=disable"

    async def shut(self, host: int) -> None:
        """Refuse everybody who wants to the host, as where nothing listens, and cut who is through."""
        for server in self._servers:
            await self._say("shut", _name(server, host))

    async def open(self, host: int) -> None:
        """Let everybody through again."""
        for server in self._servers:
            await self._say("open", _name(server, host))

    async def swallow(self, server: str, host: int, *, is_wide: bool) -> bool:
        """Swallow everything of the server's connections, or of one of them; False when there is none."""
        return await self._say("swallow", _name(server, host), "all" if is_wide else "one") != "none"

    async def relent(self, server: str, host: int, *, is_cut: bool) -> None:
        """Forward what was swallowed, or cut those connections."""
        await self._say("cut" if is_cut else "pass", _name(server, host))

    async def _say(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        async with self._lock, asyncio.timeout(_ANSWER_SECONDS):
            self._process.stdin.write(f"{' '.join(words)}\n".encode())
            await self._process.stdin.drain()
            answer = (await self._process.stdout.readline()).decode().strip()
        assert answer, "the doors' process has ended"
        assert not answer.startswith("unknown"), answer
        return answer


@contextlib.asynccontextmanager
async def running(homes: Sequence[str], *, log: Path) -> AsyncIterator[Gateway]:
    """Run the doors' process until the block ends."""
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "support.chaos.door",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
        )
    try:
        yield Gateway(process, homes)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _name(server: str, host: int) -> str:
    return f"{server}-{host}"
