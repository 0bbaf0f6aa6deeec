"""An answer that is shared by those who ask at the same time."""

import asyncio

import pytest

from support.waiting import eventually
from tinkwell.server.http.joined import Joined


class Oracle:
    """Answers how often it was asked, when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.fails = 0

    async def __call__(self) -> int:
        self.asked += 1
        await self.may_answer.wait()
        if self.fails:
            self.fails -= 1
            raise LookupError("no answer")
        return self.asked


async def test_those_who_ask_meanwhile_share_the_answer_and_the_next_one_gets_another() -> None:
    oracle = Oracle()
    joined = Joined(oracle)
    async with asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(joined.ask()) for _ in range(5)]
        await eventually(lambda: oracle.asked == 1)
        asking.append(tasks.create_task(joined.ask()))
        oracle.may_answer.set()
    assert [task.result() for task in asking] == [1] * 6
    assert await joined.ask() == 2


async def test_an_answer_that_takes_the_loop_for_itself_is_made_once_for_all_who_came_before() -> None:
    asked = 0

    async def question() -> int:
        nonlocal asked
        asked += 1
        return asked

    joined = Joined(question)
    assert await asyncio.gather(*(joined.ask() for _ in range(50))) == [1] * 50


async def test_an_error_is_the_one_s_who_asked_first_and_so_is_an_end() -> None:
    oracle = Oracle()
    oracle.fails = 1
    joined = Joined(oracle)
    first, second, third = (asyncio.create_task(joined.ask()) for _ in range(3))
    await eventually(lambda: oracle.asked == 1)
    oracle.may_answer.set()
    with pytest.raises(LookupError):
        await first
    assert (await second, await third) == (2, 2)
    oracle.may_answer.clear()
    first, second = asyncio.create_task(joined.ask()), asyncio.create_task(joined.ask())
    await eventually(lambda: oracle.asked == 3)
    first.cancel()
    await eventually(lambda: oracle.asked == 4)
    oracle.may_answer.set()
    assert await second == 4
    assert first.cancelled()
