"""The command line, run within a test."""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from click.testing import CliRunner, Result

from support import waiting
from tinkwell.cli.main import main
from tinkwell.client import testing

T = TypeVar("T")


class CommandLine:
    """The `tinkwell` command in this process, and a fake server for it in a thread of its own.

    The command runs an event loop itself, so that its tests are synchronous and the server needs another loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake server")
        self.fake = testing.FakeServer()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.fake.start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _stop(self) -> None:
        await self.fake.stop()
        # gRPC ends its calls in tasks of its own, which complain where they are left behind.
        await waiting.eventually(lambda: asyncio.all_tasks() == {asyncio.current_task()})

    def do(self, work: Callable[[testing.FakeServer], T]) -> T:
        """Do something to the server, in its own thread."""

        async def call() -> T:
            return work(self.fake)

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    def run(
        self,
        *args: str,
        stdin: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Result:
        """Run the command line to its end."""
        environment = {"TINKWELL_SERVER": self.fake.address, **(env or {})}
        return CliRunner().invoke(main, args, input=stdin, env=environment)

    def ok(self, *args: str, stdin: str | bytes | None = None) -> str:
        """Run a command line that must succeed without a word on standard error; gives its output."""
        result = self.run(*args, stdin=stdin)
        assert result.exit_code == 0, result.output
        assert not result.stderr
        return result.stdout

    def json(self, *args: str) -> Any:
        """Run a command line with `-o json`; gives what it printed."""
        return json.loads(self.ok(*args, "-o", "json"))

    def fails(self, *args: str, code: int = 1, stdin: str | bytes | None = None) -> str:
        """Run a command line that must fail with an exit code; gives what it said on standard error."""
        result = self.run(*args, stdin=stdin)
        assert result.exit_code == code, result.output
        return result.stderr
