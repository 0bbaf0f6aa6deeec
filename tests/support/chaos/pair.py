"""Two places for PostgreSQL: the primary is in one of them, and its standby, when there is one, in the other."""

import asyncio
import signal
import urllib.parse
from pathlib import Path

from support import standby
from support.chaos.cluster import Cluster
from tinkwell.server.app.dev import place


class Pair:
    """The two of them, of which `url` leads to the primary. Whoever restarts or changes it holds `lock`."""

    def __init__(self, homes: tuple[Path, Path], *, bin_dir: Path | None) -> None:
        self._homes = homes
        self.bin_dir = bin_dir
        self._clusters = [Cluster(home, bin_dir=bin_dir) for home in homes]
        self.primary = 0
        self.lock = asyncio.Lock()

    @property
    def spare(self) -> int:
        """Which of the two is not the primary."""
        return 1 - self.primary

    @property
    def url(self) -> str:
        """The URL, for the schema's owner, of the primary."""
        return self._clusters[self.primary].url

    @property
    def version(self) -> str:
        """The version of PostgreSQL."""
        return self._clusters[self.primary].version

    @property
    def sockets(self) -> list[str]:
        """The folders of the sockets of both, once the primary was started."""
        found = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.url).query))["host"]
        with place.claim(self._homes[self.spare]) as where:
            other = str(where.socket)
        return [found, other] if self.primary == 0 else [other, found]

    async def start(self) -> None:
        """Create the primary and the schema in it."""
        await self._clusters[self.primary].start()

    async def restart(self, how: signal.Signals, *, down_seconds: float) -> None:
        """Stop the primary, by SIGINT fast and by SIGQUIT as in a crash, and start it again after a while."""
        await self._clusters[self.primary].restart(how, down_seconds=down_seconds)

    async def stop(self) -> None:
        """Stop both for good."""
        for cluster in self._clusters:
            await cluster.stop()

    async def add_standby(self) -> standby.Standby:
        """Make a standby in the other place. Raises what that raises, and leaves nothing running then."""
        try:
            return await self._clusters[self.spare].follow(self.url)
        except BaseException:
            await self._clusters[self.spare].stop()
            raise

    async def drop_standby(self) -> None:
        """Stop the standby."""
        await self._clusters[self.spare].stop()

    async def stop_primary(self, how: signal.Signals) -> None:
        """Stop the primary, which is to be none any more."""
        await self._clusters[self.primary].stop(how)

    def take_over(self) -> None:
        """Take the standby, which has been promoted, for the primary."""
        self.primary = self.spare

    async def raise_former(self) -> str:
        """Start the former primary once more, to be looked at; return its URL."""
        await self._clusters[self.spare].begin_again()
        return self._clusters[self.spare].url
