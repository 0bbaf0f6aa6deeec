"""Images that do what none should do, in a subchart: what comes of it is told with the path of the chart."""

import asyncio
from dataclasses import replace

import pytest
from e2e.release.conftest import Run
from e2e.release.test_misbehaviour import CASES, IMAGES, MEBIBYTE, leftovers, manifest

from support import chart_stage
from support.chart_stage import chart
from support.release_stack import Outcome, Stack
from tinkwell.client import State
from tinkwell.core.release.kinds import OnFailure

INIT = tuple(name for name in CASES if name.startswith("init-"))
BAD = tuple(name for name, case in CASES.items() if case.became == "failed" and name not in INIT)
GOOD = tuple(name for name, case in CASES.items() if case.became == "changed")
# What is not of the runtime is shown here, and one is enough: all of them are held on both where each is by itself.
ON_ONE_RUNTIME = pytest.mark.parametrize("run", ["process"], indirect=True)
# The bounds of what these write are held where each is by itself.
FLOOD = 4 * MEBIBYTE


def nested(*names: str) -> bytes:
    """Pack a chart with resources of these names in `shop.part.deep`."""
    resources = {name: described(name) for name in names}
    deep = chart("deep", resources)
    deep["templates/plugs.yaml"] = '{"plugs": {"files": {"path": "files"}}}'
    part = chart("part", {}, subcharts={"deep": deep})
    return chart_stage.packed(chart("shop", {}, subcharts={"part": part}))


def described(name: str) -> object:
    case = CASES[name]
    config = {**case.config, "bytes": FLOOD} if "bytes" in case.config else case.config
    return manifest(name, replace(case, config=config))["resources"][name]


@pytest.mark.slow
@ON_ONE_RUNTIME
async def test_each_ends_as_it_should_in_a_subchart_and_is_told_by_its_path(run: Run) -> None:
    assert {*INIT, *BAD, *GOOD} == {*CASES}
    async with run(IMAGES) as stack:
        outcome = await stack.install("shop", nested(*BAD, *GOOD), on_failure=OnFailure.CONTINUE)
        assert leftovers(stack) == []
    for name in (*BAD, *GOOD):
        path, case = f"shop.part.deep:{name}", CASES[name]
        node = outcome.nodes[path]
        assert outcome.became[path] == case.became, (name, node.message, outcome.operation.cause)
        assert case.message in node.message, (name, node.message)
        if case.step is not State.SUCCEEDED:
            assert outcome.broken(path).state is case.step, (name, node.steps)
    assert [outcome.became[path] for path in ("shop", "shop.part", "shop.part.deep")] == ["failed"] * 3
    assert outcome.operation.cause is not None
    assert outcome.operation.cause["path"] in {f"shop.part.deep:{name}" for name in BAD}


@pytest.mark.slow
@ON_ONE_RUNTIME
async def test_what_cannot_say_what_it_is_ends_all_before_anything_is_changed(run: Run) -> None:
    async with run(IMAGES) as stack:
        outcomes = await asyncio.gather(*(install(stack, name) for name in INIT))
        assert leftovers(stack) == []
    for name, outcome in zip(INIT, outcomes, strict=True):
        path = f"shop.part.deep:{name}"
        assert CASES[name].message in outcome.nodes[path].message
        assert outcome.operation.cause is not None
        assert outcome.operation.cause["path"] == path
        assert [outcome.actions(f"shop.part.deep:{other}") for other in GOOD] == [[]] * len(GOOD)


async def install(stack: Stack, name: str) -> Outcome:
    """Install a resource whose init misbehaves beside good ones."""
    return await stack.install(name, nested(name, *GOOD), on_failure=OnFailure.CONTINUE)
