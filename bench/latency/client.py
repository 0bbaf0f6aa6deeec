"""Writers and a watcher in one process, so that one clock measures: `bench.generator` runs it.

    open     address, database_url                        replies once the watch is live and the writers are connected
    measure  seconds, writers, rate (commits a second)    replies with latencies, from before and after the commit

The watcher is the client library as everybody uses it; the callback takes the time. A writer takes the time right
before it sends its statement, which is a transaction of its own, and right after that has returned.
"""

import asyncio
import contextlib
import random
import time
import uuid
from collections.abc import Sequence

import tinkwell.client
from bench import generator
from bench.load.machine import Writer
from bench.statistic import Latencies
from tinkwell.client.watch.event import Event

_WRITERS = 16
_ARRIVE_SECONDS = 30
_METADATA = (
    '{"state": "provisioning", "facility": {"facility_code": "lab", "plan_slug": "c3.small.x86"}, "instance":'
    ' {"hostname": "node", "operating_system": {"slug": "debian_12", "distro": "debian", "version": "12"},'
    ' "ssh_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKeyThatOpensNothing ops@lab"]}}'
)


class Record:
    """When each machine was sent, committed, and called back, by its id."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        self.committed: dict[str, float] = {}
        self.called: dict[str, float] = {}

    def clear(self) -> None:
        """Begin anew."""
        for moments in (self.sent, self.committed, self.called):
            moments.clear()

    def call_back(self, event: Event) -> None:
        """Take the time of an event."""
        if event.resource_id in self.called:
            raise AssertionError(f"revision {event.revision} came twice")
        self.called[event.resource_id] = time.perf_counter()

    async def wait(self) -> None:
        """Wait until everything that was committed has been called back. Raises `TimeoutError`."""
        async with asyncio.timeout(_ARRIVE_SECONDS):
            while len(self.called) < len(self.committed):  # noqa: ASYNC110 the callback has better things to do
                await asyncio.sleep(0.005)

    def message(self) -> dict[str, object]:
        """Return the latencies as a reply."""
        before, after = Latencies(), Latencies()
        for machine, called in self.called.items():
            before.add(called - self.sent[machine])
            after.add(called - self.committed[machine])
        return {"before": before.message(), "after": after.message()}


async def write(writer: Writer, record: Record, *, until: float, period: float) -> None:
    """Insert a machine about each period, in seconds; who comes late makes up for it."""
    due = time.perf_counter() + random.uniform(0, period)
    while due < until:
        await asyncio.sleep(due - time.perf_counter())
        machine = uuid.uuid4()
        record.sent[str(machine)] = time.perf_counter()
        await writer.insert(_METADATA, machine)
        record.committed[str(machine)] = time.perf_counter()
        due += random.uniform(2 / 3, 4 / 3) * period


async def measure(record: Record, writers: Sequence[Writer], *, seconds: float, rate: float) -> dict[str, object]:
    """Write at the rate while the watch calls back, and wait for everything."""
    record.clear()
    period = len(writers) / rate
    began = time.perf_counter()
    async with asyncio.TaskGroup() as writing:
        for writer in writers:
            writing.create_task(write(writer, record, until=began + seconds, period=period))
    achieved = len(record.committed) / (time.perf_counter() - began)
    await record.wait()
    return {"rate": achieved, **record.message()}


async def work(link: generator.Link) -> None:
    """Open everything, then measure as often as asked."""
    wanted = await link.receive()
    if wanted is None:
        return
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        client = await stack.enter_async_context(tinkwell.client.connect(wanted["address"]))
        watch = client.events.watch(resource_types=["HARDWARE"], now=True)
        await watch.wait_live()
        record = Record()
        watching = tasks.create_task(watch.run(record.call_back))
        writers = [
            await stack.enter_async_context(Writer(wanted["database_url"], number)) for number in range(_WRITERS)
        ]
        link.reply(live=True)
        while (wanted := await link.receive()) is not None:
            chosen = writers[: wanted["writers"]]
            link.reply(**await measure(record, chosen, seconds=wanted["seconds"], rate=wanted["rate"]))
        watching.cancel()


if __name__ == "__main__":
    generator.run(work)
