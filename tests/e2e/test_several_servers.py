"""Two servers on one database: they are one log, and a client that knows both loses nothing when one of them dies."""

import asyncio
import contextlib
import signal
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg

import tinkwell.client
from support import process, role
from support.waiting import eventually
from tinkwell.client import Client, Event, errors

# So many that not all are with the same server, but by a chance of one in a hundred thousand.
WATCHERS = 17
WRITERS = 4
# Before one of the servers is killed, and again after.
CHANGES = 150


@contextlib.asynccontextmanager
async def server(database_url: str, log: Path) -> AsyncIterator[tuple[process.Process, str]]:
    environment = {"TINKWELL_DATABASE_URL": role.url_of_server(database_url), "TINKWELL_THROWAWAY_DATABASE": "true"}
    arguments = ("server", "--port", "0", "--http-port", "0")
    async with process.running(*arguments, log=log, environment=environment) as running:
        ready = await running.line(r"the server is ready grpc=(\S+)")
        yield running, ready[1]


class Follower:
    """A client of its own, and what a watch of all events has handed out."""

    def __init__(self, address: str) -> None:
        self.client = tinkwell.client.connect(address)
        self.revisions: list[int] = []
        self.interruptions = 0
        self.watch = self.client.events.watch(from_revision=1, on_disconnect=self._note_interruption)

    async def run(self) -> None:
        async with self.client:
            await self.watch.run(self._note)

    def _note(self, event: Event) -> None:
        self.revisions.append(event.revision)

    def _note_interruption(self, *_: object) -> None:
        self.interruptions += 1


class Writer:
    """Makes changes as fast as they are accepted."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.accepted: list[int] = []
        self.is_done = False

    async def run(self) -> None:
        async with tinkwell.client.connect(self._address, timeout_seconds=10) as client:
            while not self.is_done:
                try:
                    self.accepted.append(await push(client))
                except errors.Unavailable:
                    # The change may have been made nevertheless: the table knows.
                    await asyncio.sleep(0.01)


async def push(client: Client) -> int:
    return (await client.hardware.push({"id": str(uuid.uuid4())})).revision


async def revisions_in(database_url: str) -> list[int]:
    connection = await asyncpg.connect(database_url)
    try:
        return [row[0] for row in await connection.fetch("SELECT revision FROM events ORDER BY revision")]
    finally:
        await connection.close()


async def test_watches_and_writers_of_a_killed_server_go_on_with_the_other(database_url: str, tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        first, first_address = await stack.enter_async_context(server(database_url, tmp_path / "first.log"))
        _, second_address = await stack.enter_async_context(server(database_url, tmp_path / "second.log"))
        either = f"{first_address},{second_address}"
        followers = [Follower(either) for _ in range(WATCHERS)]
        undisturbed = Follower(second_address)
        writers = [Writer(either) for _ in range(WRITERS)] + [Writer(first_address), Writer(second_address)]

        def accepted() -> int:
            return sum(len(writer.accepted) for writer in writers)

        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(follower.run()) for follower in (*followers, undisturbed)]
            writing = [tasks.create_task(writer.run()) for writer in writers]
            await eventually(lambda: accepted() > CHANGES, deadline_seconds=30)
            await first.stop(signal.SIGKILL)
            at_the_kill = accepted()
            await eventually(lambda: accepted() > at_the_kill + CHANGES, deadline_seconds=30)
            for writer in writers:
                writer.is_done = True
            await asyncio.wait(writing)
            made = await revisions_in(database_url)
            await eventually(lambda: all_received(followers, made), deadline_seconds=30)
            await eventually(lambda: undisturbed.revisions == made)
            for task in following:
                task.cancel()
    # A push that was repeated after its answer was lost has changed nothing, which is revision 0.
    assert {revision for writer in writers for revision in writer.accepted} - {0} <= set(made)
    assert undisturbed.interruptions == 0
    assert any(follower.interruptions for follower in followers)
    assert writers[-2].accepted
    assert writers[-1].accepted


def all_received(followers: list[Follower], made: list[int]) -> bool:
    return all(follower.revisions == made for follower in followers)
