"""A client that reads one object and lists all objects, several times.

read   address, what, one, rounds     `what` is "hardware" or "releases", `one` the object's id or name; replies with
                                      the median seconds of a get, of the first object of a list, and of a whole list
"""

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import tinkwell.client
from bench import generator


async def _listed(objects: AsyncIterator[object]) -> tuple[float, float]:
    """Return the seconds to the first object and to the last one."""
    began = time.perf_counter()
    first = 0.0
    async for _ in objects:
        first = first or time.perf_counter() - began
    return first, time.perf_counter() - began


async def read(
    get: Callable[[str], Awaitable[object]], list_: Callable[[], AsyncIterator[object]], one: str, rounds: int
) -> dict[str, float]:
    """Get and list once without counting, then `rounds` times; return the medians."""
    gets, lists = [], []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        await get(one)
        gets.append(time.perf_counter() - began)
        lists.append(await _listed(list_()))
    return {
        "get": statistics.median(gets[1:]),
        "first": statistics.median(first for first, _ in lists[1:]),
        "whole": statistics.median(whole for _, whole in lists[1:]),
    }


async def work(link: generator.Link) -> None:
    """Carry out the messages one by one."""
    while (asked := await link.receive()) is not None:
        async with tinkwell.client.connect(asked["address"]) as client:
            if asked["what"] == "hardware":
                seconds = await read(client.hardware.by_id, client.hardware.all, asked["one"], asked["rounds"])
            else:
                seconds = await read(client.releases.get, client.releases.list, asked["one"], asked["rounds"])
        link.reply(**seconds)


if __name__ == "__main__":
    generator.run(work)
