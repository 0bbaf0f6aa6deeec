"""The deck that faults are dealt from."""

import asyncio
import enum
import random

from support.chaos.deck import Deck


class Kind(enum.StrEnum):
    OFTEN = "can always happen"
    NEVER = "befalls what is not there"


async def test_a_fault_that_can_happen_no_more_is_given_up_and_told_of() -> None:
    async def inject(kind: Kind) -> bool:
        return kind is Kind.OFTEN

    dealt = Deck(
        list(Kind), inject, chance=random.Random(1), seconds=0.05, rounds=3, pause_seconds=0.001, patience_seconds=0.01
    )
    async with asyncio.timeout(10):
        await dealt.deal()
    assert dealt.injected[Kind.OFTEN] >= 3
    assert dealt.injected[Kind.NEVER] == 0
    assert dealt.in_vain[Kind.NEVER] > 0
    assert dealt.shortfalls == ["injected 0 times, where 3 were asked for: befalls what is not there"]


async def test_a_deck_that_was_dealt_as_often_as_asked_falls_short_of_nothing() -> None:
    async def inject(_: Kind) -> bool:
        return True

    dealt = Deck(list(Kind), inject, chance=random.Random(1), seconds=0.05, rounds=3)
    async with asyncio.timeout(10):
        await dealt.deal()
    assert min(dealt.injected.values()) >= 3
    assert dealt.shortfalls == []


async def test_a_fault_that_happened_often_enough_may_be_given_up() -> None:
    left = {Kind.OFTEN: 1_000_000, Kind.NEVER: 3}

    async def inject(kind: Kind) -> bool:
        left[kind] -= 1
        return left[kind] >= 0

    dealt = Deck(
        list(Kind), inject, chance=random.Random(1), seconds=0.05, rounds=3, pause_seconds=0.001, patience_seconds=0.01
    )
    async with asyncio.timeout(10):
        await dealt.deal()
    assert dealt.injected[Kind.NEVER] == 3
    assert dealt.shortfalls == []


async def test_a_fault_that_comes_late_is_tried_for_as_long_as_others() -> None:
    tries = 0

    async def inject(_: Kind) -> bool:
        nonlocal tries
        tries += 1
        return tries % 2 == 0

    # All of it takes longer than the patience with one of them.
    dealt = Deck(
        [Kind.OFTEN], inject, chance=random.Random(1), seconds=0.0, rounds=40, pause_seconds=0.01, patience_seconds=0.3
    )
    async with asyncio.timeout(10):
        await dealt.deal()
    assert dealt.injected[Kind.OFTEN] == 40
    assert dealt.shortfalls == []
