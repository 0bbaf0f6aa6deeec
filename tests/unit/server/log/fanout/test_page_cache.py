"""Who reads a piece of the table, and who has it from another."""

import asyncio

import pytest

from support.log_event import make_event
from support.waiting import eventually
from tinkwell.core import errors
from tinkwell.core.event.page import Replay, row_of
from tinkwell.core.event.selection import Selection
from tinkwell.server.log.fanout.page_cache import Holding, Shelf
from tinkwell.server.log.fanout.table_page import Piece

KEY = ("h", Selection())


class Reading:
    """Reads pieces of ten revisions, once it may; counts how often."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.error: Exception | None = None

    async def take(self, holding: Holding, position: int, key: tuple[str, Selection] = KEY) -> Piece:
        async def read() -> Piece:
            self.firsts.append(position)
            await self.may_end.wait()
            if self.error is not None:
                raise self.error
            revisions = range(position, position + 10)
            return Piece(position, Replay([row_of(make_event(n)) for n in revisions], position + 9))

        return await holding.take(key, position, read)


async def test_what_lies_in_a_held_piece_is_not_read_again() -> None:
    shelf, reading = Shelf(), Reading()
    with shelf.holding() as one, shelf.holding() as other:
        first = await reading.take(one, 1)
        assert await reading.take(other, 1) is await reading.take(other, 10) is first
        assert await reading.take(other, 11) is not first
    assert reading.firsts == [1, 11]
    assert shelf.count == 0


async def test_another_selection_or_history_has_pieces_of_its_own() -> None:
    shelf, reading = Shelf(), Reading()
    with shelf.holding() as holding:
        pieces = [
            await reading.take(holding, 1, key)
            for key in (KEY, ("i", Selection()), ("h", Selection(resource_id="a")), KEY)
        ]
        assert shelf.count == 3
    assert pieces[0] is pieces[3]
    assert len({id(piece) for piece in pieces}) == 3


async def test_a_piece_is_gone_once_nobody_holds_it() -> None:
    shelf, reading = Shelf(), Reading()
    with shelf.holding() as one, shelf.holding() as other:
        await reading.take(one, 1)
        await reading.take(other, 1)
        await reading.take(one, 11)
        one.keep_last()
        assert shelf.count == 2, "the other one still sends the first"
        await reading.take(other, 11)
        other.keep_last()
        assert shelf.count == 1
        await reading.take(one, 5)
    assert reading.firsts == [1, 11, 5]


async def test_a_piece_that_is_being_read_is_waited_for() -> None:
    shelf, reading = Shelf(), Reading()
    reading.may_end.clear()
    with shelf.holding() as one, shelf.holding() as other, shelf.holding() as far:
        tasks = [
            asyncio.create_task(reading.take(holding, position))
            for holding, position in ((one, 1), (other, 7), (far, 20), (far, 5_000))
        ]
        # A piece may end early: then who waited in vain reads by itself. Far away nobody waits at all.
        await eventually(lambda: reading.firsts == [1, 5_000])
        reading.may_end.set()
        pieces = await asyncio.gather(*tasks)
    assert reading.firsts == [1, 5_000, 20]
    assert [piece.first for piece in pieces] == [1, 1, 20, 5_000]


async def test_one_of_those_who_wait_reads_when_the_reader_goes() -> None:
    shelf, reading = Shelf(), Reading()
    reading.may_end.clear()
    with shelf.holding() as one, shelf.holding() as second, shelf.holding() as third:
        tasks = [asyncio.create_task(reading.take(holding, 1)) for holding in (one, second, third)]
        await eventually(lambda: reading.firsts == [1])
        tasks[0].cancel()
        await eventually(lambda: reading.firsts == [1, 1])
        # So may whoever only waits.
        tasks[2].cancel()
        reading.may_end.set()
        assert (await tasks[1]).first == 1
        await asyncio.gather(tasks[0], tasks[2], return_exceptions=True)
        assert reading.firsts == [1, 1]
        assert shelf.count == 1
    assert shelf.count == 0


async def test_a_database_that_is_away_is_away_for_all_who_wait_and_other_errors_are_ones_own() -> None:
    shelf, reading = Shelf(), Reading()
    with shelf.holding() as one, shelf.holding() as other:
        for error, reads in ((errors.Unavailable("away"), 1), (errors.Compacted(1, 3), 2)):
            reading.firsts, reading.error = [], error
            reading.may_end.clear()
            tasks = [asyncio.create_task(reading.take(holding, 1)) for holding in (one, other)]
            await eventually(lambda: reading.firsts == [1])
            reading.may_end.set()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert ends == [error, error]
            assert len(reading.firsts) == reads
            assert shelf.count == 0
    with pytest.raises(errors.Compacted), shelf.holding() as holding:
        await reading.take(holding, 1)
