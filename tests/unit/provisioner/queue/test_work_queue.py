"""The set of ids that need a look."""

import asyncio

from support.waiting import eventually
from tinkwell.provisioner.queue.work_queue import DirtySet


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_id_is_handed_out_once_however_often_it_was_put() -> None:
    dirty = DirtySet(10)
    for item in ("a", "b", "a", "a"):
        await dirty.put(item)
    assert [await dirty.take(), await dirty.take()] == ["a", "b"]
    assert len(dirty) == 0


async def test_an_id_that_changes_while_it_is_looked_at_is_handed_out_afterwards_to_one_taker() -> None:
    dirty = DirtySet(10)
    await dirty.put("a")
    assert await dirty.take() == "a"
    await dirty.put("a")
    await dirty.put("a")
    second = asyncio.ensure_future(dirty.take())
    await settle()
    assert not second.done()
    await dirty.done("a")
    assert await second == "a"
    await dirty.done("a")
    assert len(dirty) == 0


async def test_a_full_set_holds_back_whoever_puts_more() -> None:
    dirty = DirtySet(2)
    for item in ("a", "b"):
        await dirty.put(item)
    third = asyncio.ensure_future(dirty.put("c"))
    await settle()
    assert not third.done()
    await dirty.put("a")
    await dirty.take()
    await third
    assert [await dirty.take(), await dirty.take()] == ["b", "c"]


async def test_two_that_wait_with_the_same_id_add_it_once() -> None:
    dirty = DirtySet(1)
    await dirty.put("a")
    waiting = [asyncio.ensure_future(dirty.put("b")) for _ in range(2)]
    await settle()
    assert await dirty.take() == "a"
    await asyncio.gather(*waiting)
    assert await dirty.take() == "b"
    assert len(dirty) == 0


async def test_a_cancelled_taker_takes_nothing() -> None:
    dirty = DirtySet(2)
    taker = asyncio.ensure_future(dirty.take())
    await settle()
    taker.cancel()
    await eventually(taker.done)
    await dirty.put("a")
    assert await dirty.take() == "a"


async def test_many_takers_never_hold_the_same_id() -> None:
    dirty = DirtySet(5)
    held: set[str] = set()
    seen: list[str] = []

    async def take() -> None:
        while True:
            item = await dirty.take()
            assert item not in held
            held.add(item)
            await asyncio.sleep(0)
            seen.append(item)
            held.remove(item)
            await dirty.done(item)

    takers = [asyncio.ensure_future(take()) for _ in range(4)]
    for number in range(500):
        await dirty.put(f"{number % 7}")
        if number % 3 == 0:
            await asyncio.sleep(0)
    await eventually(lambda: len(dirty) == 0 and not held)
    assert {f"{number}" for number in range(7)} == set(seen)
    assert all(not taker.done() for taker in takers)
    for taker in takers:
        taker.cancel()
    await asyncio.gather(*takers, return_exceptions=True)
