"""Two operators of one chart who install, upgrade and uninstall at once, while a provisioner does what they begin."""

import asyncio
import random
from collections.abc import Awaitable

import pytest

from support.chart_stage import chart, packed, thing
from support.release_stage import Stage
from tinkwell.client import OperationHandle, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import ReleaseState, RevisionState

ROUNDS = 4

# What the two ask for, where the release is there, and where it is not.
PAIRS_THERE = (("upgrade", "uninstall"), ("uninstall", "upgrade"), ("upgrade", "upgrade"), ("install", "uninstall"))
PAIRS_ABSENT = (("install", "install"), ("install", "uninstall"), ("uninstall", "install"), ("upgrade", "install"))

Refusal = errors.OperationActive | errors.NotFound | errors.AlreadyExists


@pytest.mark.slow
async def test_of_two_operators_of_one_chart_one_wins_and_the_other_is_told_who(stage: Stage) -> None:
    releases, chance = stage.client.releases, random.Random(7)
    is_there = False
    async with stage.provisioner():
        for number in range(ROUNDS):
            # Whoever asks first wins, as a rule.
            calls = chance.choice(PAIRS_THERE if is_there else PAIRS_ABSENT)
            texts = [f"of {side} in round {number}" for side in "ab"]
            answers = await asyncio.gather(
                *(told(ask(stage, call, text)) for call, text in zip(calls, texts, strict=True))
            )
            begun = {
                each.id: (call, text)
                for each, call, text in zip(answers, calls, texts, strict=True)
                if isinstance(each, OperationHandle)
            }
            refused = {each.operation_id for each in answers if isinstance(each, errors.OperationActive)}
            assert begun
            assert refused <= begun.keys()
            for operation_id in begun:
                await stage.ends(operation_id, State.SUCCEEDED)
            found = [each async for each in releases.list()]
            is_there = found != []
            assert [each.state for each in found] in ([], [ReleaseState.DEPLOYED])
            if is_there:
                states = [each.state async for each in releases.history("shop")]
                assert states.count(RevisionState.DEPLOYED) == 1
                assert RevisionState.PENDING not in states
            assert (stage.content("page") is not None) is is_there
            wanted = [text for call, text in begun.values() if call != "uninstall"]
            if is_there and len(begun) == 1:
                assert [stage.content("page")] == [f"page {text}" for text in wanted]
        assert stage.runs() == []
    assert [each async for each in releases.unfinished()] == []


def ask(stage: Stage, call: str, text: str) -> Awaitable[OperationHandle]:
    """Ask for an operation on a chart, of which one resource is told by outputs and inputs what another one holds."""
    releases = stage.client.releases
    if call == "uninstall":
        return releases.uninstall("shop")
    files = packed(
        chart(
            "shop",
            {},
            subcharts={
                "db": chart("db", {"store": thing("store", text)}, outputs={"text": "{{ store.state.text }}"}),
                "web": chart("web", {"page": thing("page", "page {{ inputs.text }}")}),
            },
            dependencies={"web": {"depends-on": ["db"], "inputs": {"text": "{{ subcharts.db.outputs.text }}"}}},
        )
    )
    values = {"global": {"folder": str(stage.folder)}}
    if call == "install":
        return releases.install("shop", files, values=values)
    return releases.upgrade("shop", files, values=values, install=True)


async def told(request: Awaitable[OperationHandle]) -> OperationHandle | Refusal:
    """Make a request, and return the operation, or why there is none."""
    try:
        return await request
    except (errors.OperationActive, errors.NotFound, errors.AlreadyExists) as error:
        return error
