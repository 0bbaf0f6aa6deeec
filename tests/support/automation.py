"""Where rules run in processes of their own, against a real server and a real receiver."""

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from support import process
from support.receiver import SECRET, Receiver
from support.waiting import eventually
from tinkwell.client import Client

SECONDS = 60
FOLLOWED = "events are followed"


class Place:
    """Where automations run: a folder for their files and logs, a server, and a receiver."""

    def __init__(self, path: Path, server_address: str, receiver: Receiver) -> None:
        self.path = path
        self.receiver = receiver
        self._server = server_address
        self._count = 0

    def file(self, text: str) -> Path:
        path = self.path / "rules.yaml"
        path.write_text(text)
        return path

    @contextlib.asynccontextmanager
    async def running(
        self, rules: Path, *arguments: str, module: str = "tinkwell.provisioner.automation", is_live: bool = True
    ) -> AsyncIterator[process.Process]:
        """Run rules until the block ends; it begins once they follow events."""
        self._count += 1
        words = arguments or ("run", "--rules", str(rules))
        environment = {"TINKWELL_WEBHOOK_URL": self.receiver.url, "TINKWELL_WEBHOOK_SECRET": SECRET}
        options = ("--server", self._server, "--state-dir", str(self.path / "state"))
        async with process.running(
            "-m",
            module,
            *words,
            *options,
            program=sys.executable,
            log=self.path / f"{self._count}.log",
            environment=environment,
        ) as running:
            if is_live:
                await running.line(FOLLOWED, deadline_seconds=SECONDS)
            yield running

    def deliveries(self, name: str = "test") -> list[dict[str, object]]:
        path = self.path / "state" / "automation" / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def caught_up(client: Client, name: str, revision: int) -> None:
    """Wait until a position has reached a revision."""

    async def has_reached() -> bool:
        return (await client.events.position(name)).revision >= revision

    await eventually(has_reached, deadline_seconds=SECONDS)
