"""Expressions over events, in this process and in children."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from unit.provisioner.automation.sample import event

from support.waiting import eventually
from tinkwell.client.watch.event import Event
from tinkwell.provisioner.automation.rule import evaluation
from tinkwell.provisioner.automation.rule.expression import Expression, ExpressionError, Text, read_json
from tinkwell.sandbox import errors
from tinkwell.sandbox.child import Child

DATA = {"name": 'a "quoted" one', "count": 3, "cause": {"reason": "limit"}, "items": [1, 2, 3]}
SEEN = event(7, data=DATA)
# What the library does with these grows with the square of their number.
LARGE = event(8, data={"items": [{"id": number} for number in range(20_000)]})
HEAVY = "event.data.items.filter(i, i.id >= 0).size() > 0"


@pytest.fixture
async def evaluator() -> AsyncIterator[evaluation.Evaluator]:
    async with evaluation.Evaluator() as made:
        yield made


async def holds(evaluator: evaluation.Evaluator, text: str, seen: Event = SEEN) -> bool:
    return await evaluator.holds(Expression(text), evaluation.Sight(seen))


# The second is not quick, and says the same.
@pytest.mark.parametrize("suffix", ["", " || 'a'.matches('b')"])
async def test_a_condition_sees_the_event(evaluator: evaluation.Evaluator, suffix: str) -> None:
    assert await holds(evaluator, f"event.name == 'workflow.timeout' && event.revision > 6{suffix}")
    assert not await holds(evaluator, f"event.data.count > 3{suffix}")


@pytest.mark.parametrize("suffix", ["", " || 'a'.matches('b')"])
@pytest.mark.parametrize("text", ["event.data.missing == 1", "event.data.count", "1 / 0 == 1", "event.data.name > 1"])
async def test_a_condition_that_does_not_fit_the_event_says_so(
    evaluator: evaluation.Evaluator, text: str, suffix: str
) -> None:
    with pytest.raises(ExpressionError) as caught:
        await holds(evaluator, text + suffix)
    assert repr(text + suffix) in str(caught.value)


async def test_what_is_told_of_a_value_that_does_not_fit_is_short(evaluator: evaluation.Evaluator) -> None:
    large = event(9, data={"text": "x" * 50_000})
    for text in ("event.data + 1 == 2", "event.data.text - 1 == 2", "[event].all(e, e.data + 1 == 2)"):
        with pytest.raises(ExpressionError) as caught:
            await holds(evaluator, text, large)
        assert len(str(caught.value)) < 500


async def test_a_condition_that_takes_too_long_is_given_up_and_nothing_else_waits_for_it(
    evaluator: evaluation.Evaluator,
) -> None:
    given_up = asyncio.create_task(holds(evaluator, HEAVY, LARGE))
    answered = 0
    while not given_up.done():
        # Another child answers meanwhile.
        answered += await holds(evaluator, "event.data.name.matches('quoted')")
    with pytest.raises(ExpressionError, match="needs more than 1 s of processor time"):
        await given_up
    assert answered
    assert await holds(evaluator, "event.data.name.matches('quoted')")


async def test_a_large_event_is_not_looked_at_in_this_process_however_simple_the_condition_is(
    evaluator: evaluation.Evaluator,
) -> None:
    simple = Expression("event.data.items[0].id == 0")
    assert evaluation.Sight(SEEN).is_quick([simple])
    assert not evaluation.Sight(LARGE).is_quick([simple])
    assert await evaluator.holds(simple, evaluation.Sight(LARGE))


@pytest.mark.parametrize("suffix", ["", "{{ 'a'.matches('b') ? 'x' : '' }}"])
async def test_texts_and_bodies_are_filled_in(evaluator: evaluation.Evaluator, suffix: str) -> None:
    text = f"{{{{ event.data.count }}}} of {{{{event.data.name}}}}{suffix}"
    node = read_json({"text": text, "all": ["{{ event.data }}"]})
    assert await evaluator.fill(node, SEEN) == {"text": '3 of a "quoted" one', "all": [DATA]}
    texts = [Text("{{ event.data.count }}"), Text("plain"), Text("{{ event.data.cause }}")]
    assert await evaluator.texts(texts, SEEN) == ["3", "plain", '{"reason": "limit"}']


@pytest.mark.parametrize("suffix", ["", "{{ 'a'.matches('b') ? 'x' : '' }}"])
@pytest.mark.parametrize("text", ["{{ double('inf') }}", "{{ b'bytes' }}", "{{ event.missing }}"])
async def test_what_json_cannot_hold_is_an_error(evaluator: evaluation.Evaluator, text: str, suffix: str) -> None:
    with pytest.raises(ExpressionError):
        await evaluator.fill(Text(text + suffix), SEEN)


@pytest.mark.parametrize("text", ["event.revision > 0", "'a'.matches('a')"])
async def test_half_a_character_in_an_event_is_an_error(evaluator: evaluation.Evaluator, text: str) -> None:
    with pytest.raises(ExpressionError):
        await holds(evaluator, text, event(9, data={"text": "\ud800"}))


async def test_what_gives_too_much_is_an_error(evaluator: evaluation.Evaluator) -> None:
    large = event(9, data={"text": "x" * 100_000, "items": [*range(100)]})
    with pytest.raises(ExpressionError, match="gives more than 2 MiB in all"):
        await evaluator.fill(Text("{{ event.data.items.map(i, event.data.text) }}"), large)


async def test_a_child_that_is_killed_from_outside_is_replaced(evaluator: evaluation.Evaluator) -> None:
    assert await holds(evaluator, "'a'.matches('a')")
    asking = asyncio.create_task(holds(evaluator, HEAVY, LARGE))
    (child,) = (each for each in evaluator._children if each.pid)
    pid = child.pid
    assert pid
    await eventually(lambda: evaluator._vacant._value < evaluation.CHILDREN)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(ExpressionError, match="processor time"):
        await asking


async def test_what_ends_a_child_twice_is_an_error(
    evaluator: evaluation.Evaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []

    async def die(child: Child, request: bytes) -> bytes:
        calls.append(request)
        raise errors.Died("the child process ended of signal 11")

    monkeypatch.setattr(Child, "call", die)
    with pytest.raises(ExpressionError, match="ended of signal 11"):
        await holds(evaluator, "'a'.matches('a')")
    assert len(calls) == 2


async def test_where_no_child_can_be_had_the_event_waits_for_one(
    evaluator: evaluation.Evaluator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    call, failures = Child.call, [errors.NotStarted("no more processes")] * 2

    async def refuse(child: Child, request: bytes) -> bytes:
        if failures:
            raise failures.pop()
        return await call(child, request)

    monkeypatch.setattr(Child, "call", refuse)
    assert await holds(evaluator, "'a'.matches('a')")
    assert caplog.text.count("expressions cannot be evaluated, and are tried again") == 2
