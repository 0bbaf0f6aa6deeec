"""Watchers of either peer in one process, all over one connection: `bench.generator` runs it.

    open      peer, address, watchers    replies once all of them are live
    discard                              forgets what has come; replies with how much that was, and when
    take                                 replies with what has come since, when, and with the latencies

Per event, and the same for both peers: the response is parsed, the revision must be the next one, since nothing else
writes and nothing is rolled back, and the moment in the value is compared with the clock.
"""

import asyncio
import time
from array import array

import grpc.aio

from bench import generator
from bench.fanout.peer import OPTIONS, PEERS, Peer, Read
from bench.load import stamp
from bench.statistic import Latencies


class Crowd:
    """All watchers of this process, and what they have received since the last question."""

    def __init__(self, peer: Peer, watchers: int) -> None:
        self._peer = peer
        self._not_live = watchers
        self.all_live = asyncio.Event()
        self._messages = 0
        self._nanoseconds = array("q")

    async def follow(self, read: Read) -> None:
        """Take what one watcher receives until cancelled."""
        events, last = self._peer.events, 0
        while (response := await read()) is not grpc.aio.EOF:
            if response.created:
                self._begin()
                continue
            now = time.time_ns()
            self._messages += 1
            for revision, value in events(response):
                if last and revision != last + 1:
                    raise AssertionError(f"revision {revision} came after {last}")
                last = revision
                self._nanoseconds.append(now - stamp.read(value))
        raise ConnectionError("the server ended a watch")

    def discard(self) -> dict[str, object]:
        """Begin anew, without a look at the latencies."""
        answer: dict[str, object] = {
            "events": len(self._nanoseconds),
            "messages": self._messages,
            "at": time.monotonic(),
        }
        self._messages, self._nanoseconds = 0, array("q")
        return answer

    def take(self) -> dict[str, object]:
        """Begin anew, and return the latencies, too."""
        latencies, nanoseconds = Latencies(), self._nanoseconds
        answer = self.discard()
        for taken in nanoseconds:
            latencies.add(taken / 1e9)
        return answer | {"latencies": latencies.message()}

    def _begin(self) -> None:
        self._not_live -= 1
        if not self._not_live:
            self.all_live.set()


async def work(link: generator.Link) -> None:
    """Open the watchers, then answer."""
    wanted = await link.receive()
    if wanted is None:
        return
    peer = PEERS[wanted["peer"]]
    crowd = Crowd(peer, wanted["watchers"])
    async with grpc.aio.insecure_channel(wanted["address"], options=OPTIONS) as channel, asyncio.TaskGroup() as tasks:
        reads = [await peer.watch(channel) for _ in range(wanted["watchers"])]
        following = [tasks.create_task(crowd.follow(read)) for read in reads]
        await crowd.all_live.wait()
        link.reply(live=len(following))
        while (asked := await link.receive()) is not None:
            link.reply(**(crowd.take() if asked["do"] == "take" else crowd.discard()))
        for task in following:
            task.cancel()


if __name__ == "__main__":
    generator.run(work)
