"""Children of many owners share a few places, and none of them its process."""

import asyncio
from collections.abc import Sequence

import pytest
from integration.sandbox.test_child import MODULE, PATHS, ask, is_gone

from tinkwell.sandbox.child import Child
from tinkwell.sandbox.room import Room


async def _close(children: Sequence[Child]) -> None:
    for child in children:
        await child.close()


async def test_the_child_that_has_rested_longest_makes_place_and_starts_anew_when_it_is_needed() -> None:
    room = Room(2)
    children = [Child(MODULE, PATHS, room=room) for _ in range(3)]
    for child in children[:2]:
        await ask(child, "echo", 1)
    first, second = (child.pid for child in children[:2])
    assert first
    await ask(children[2], "echo", 1)
    assert children[0].pid is None
    assert is_gone(first)
    assert children[1].pid == second
    assert await ask(children[0], "echo", "again") == "again"
    assert [child.pid is None for child in children] == [False, True, False]
    await _close(children)


async def test_many_calls_at_once_are_answered_by_as_many_children_as_there_are_places() -> None:
    room, most = Room(2), 0
    children = [Child(MODULE, PATHS, room=room) for _ in range(8)]

    async def call(number: int) -> object:
        nonlocal most
        answer = await ask(children[number % 8], "echo", number)
        most = max(most, sum(child.pid is not None for child in children))
        return answer

    assert await asyncio.gather(*map(call, range(24))) == list(range(24))
    assert most <= 2
    await _close(children)
    assert not any(child.pid for child in children)


async def test_a_child_that_was_closed_or_given_up_leaves_its_place_to_others() -> None:
    room = Room(1)
    first, second = (Child(MODULE, PATHS, room=room) for _ in range(2))
    call = asyncio.ensure_future(ask(first, "wait"))
    waiting = asyncio.ensure_future(ask(second, "echo", 2))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await waiting == 2
    await second.close()
    assert await ask(first, "echo", 3) == 3
    await first.close()
