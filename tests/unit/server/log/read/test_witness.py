"""What a reader remembers of what it has released."""

import pytest

from support.log_event import make_event
from support.scripted_log import Log, make_hub, running
from support.waiting import eventually
from tinkwell.server.log.read.witness import Witness


@pytest.mark.parametrize(
    ("revisions", "before", "released", "dead"),
    [
        ([], 0, 0, []),
        ([1, 2, 3], 0, 3, []),
        ([4], 3, 4, []),
        ([6], 3, 6, [(4, 5)]),
        ([4, 7, 8, 11], 3, 11, [(5, 6), (9, 10)]),
        ([4], 3, 9, [(5, 9)]),
        ([], 3, 9, [(4, 9)]),
    ],
)
def test_what_is_released_without_an_event_is_dead(
    revisions: list[int], before: int, released: int, dead: list[tuple[int, int]]
) -> None:
    witness = Witness()
    witness.note([make_event(revision) for revision in revisions], before=before, released=released)
    assert list(witness.dead) == dead
    assert [revision for revision, _ in witness.delivered] == revisions


def test_only_the_latest_are_remembered() -> None:
    witness = Witness()
    for first in (1, 1_001, 2_001):
        witness.note(
            [make_event(revision) for revision in range(first, first + 1_000)], before=first - 1, released=first + 999
        )
    for revision in range(3_001, 4_001, 2):
        witness.note([make_event(revision + 1)], before=revision - 1, released=revision + 1)
    assert len(witness.delivered) == 1_000
    assert witness.delivered[-1] == (4_000, make_event(4_000).id)
    assert len(witness.dead) < 500
    assert witness.dead[-1] == (3_999, 3_999)


async def test_a_log_that_comes_back_without_what_was_delivered_is_another_one() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        log.commit(1, 2, 3)
        await eventually(lambda: hub.released == 3)
        before = hub.history_id
        log.is_away = True
        await eventually(lambda: log.sessions > 2)
        log.events, log.is_away = log.events[:1] + log.events[2:], False
        await eventually(lambda: hub.is_open and hub.history_id != before)


async def test_a_revision_that_was_dead_and_comes_is_another_log() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        log.commit(1, 3)
        await eventually(lambda: hub.released == 3)
        before = hub.history_id
        log.commit(2)
        await eventually(lambda: hub.is_open and hub.history_id != before)


async def test_a_log_that_comes_back_as_it_was_is_the_same() -> None:
    log, hub = Log(), make_hub()
    async with running(log, hub):
        await eventually(lambda: hub.is_open)
        log.commit(1, 3)
        await eventually(lambda: hub.released == 3)
        before = hub.history_id
        log.is_away = True
        await eventually(lambda: log.sessions > 2)
        log.oldest, log.events, log.is_away = 3, log.events[1:], False
        log.commit(4)
        await eventually(lambda: hub.released == 4)
        assert hub.history_id == before
