"""Two operators who want different things of one release at once, while a provisioner carries out what they begin."""

import asyncio
from collections.abc import Awaitable

import pytest

from support.release_stage import Stage
from tinkwell.client import OperationHandle, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import RevisionState

ROUNDS = 4


@pytest.mark.slow
async def test_one_operator_wins_and_the_other_is_told_who_and_nothing_is_deployed_twice(stage: Stage) -> None:
    releases = stage.client.releases
    async with stage.provisioner():
        for number in range(ROUNDS):
            text = f"of round {number}"
            requests = {
                "apply": releases.apply("shop", manifest={"resources": {"first": stage.thing("a", text)}}),
                "remove": releases.uninstall("shop"),
            }
            # Whoever asks first wins, as a rule.
            names = sorted(requests, reverse=number % 2 == 1)
            answers = await asyncio.gather(*(told(requests[name]) for name in names))
            begun = {name: each for name, each in zip(names, answers, strict=True) if isinstance(each, OperationHandle)}
            refused = {each.operation_id for each in answers if isinstance(each, errors.OperationActive)}
            assert begun
            assert refused <= {each.id for each in begun.values()}
            for each in begun.values():
                await stage.ends(each.id, State.SUCCEEDED)
            if [*begun] == ["apply"]:
                states = [each.state async for each in releases.history("shop")]
                assert states.count(RevisionState.DEPLOYED) == 1
                assert stage.content("a") == text
            elif [*begun] == ["remove"]:
                assert stage.content("a") is None
        assert stage.runs() == []
    assert [each async for each in releases.unfinished()] == []


async def told(request: Awaitable[OperationHandle]) -> OperationHandle | errors.OperationActive | errors.NotFound:
    """Make a request, and return the operation, or why there is none."""
    try:
        return await request
    except (errors.OperationActive, errors.NotFound) as error:
        return error
