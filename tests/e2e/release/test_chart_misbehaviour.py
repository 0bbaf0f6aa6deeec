"""Images that do what none should do, in a subchart: what comes of it is told with the path of the chart."""

from dataclasses import replace

import pytest
from e2e.release.conftest import Run
from e2e.release.test_misbehaviour import CASES, IMAGES, leftovers, manifest

from support import chart_stage
from support.chart_stage import chart
from tinkwell.client import State
from tinkwell.core.release.kinds import OnFailure

BAD = (
    *("state-exit-7", "state-garbage", "state-two-documents", "state-ignores-sigterm", "state-never-valid"),
    *("action-exit-7", "action-never"),
)
# An engine may take a while to begin so many containers at once.
SECONDS = 8
GOOD = ("state-forks", "action-forks", "action-unread")


def nested(*names: str) -> bytes:
    """Pack a chart with resources of these names in `shop.part.deep`."""
    cases = {name: replace(CASES[name], timeouts=dict.fromkeys(CASES[name].timeouts, SECONDS)) for name in names}
    described = {name: manifest(name, case) for name, case in cases.items()}
    deep = chart("deep", {name: each["resources"][name] for name, each in described.items()})
    deep["templates/plugs.yaml"] = '{"plugs": {"files": {"path": "files"}}}'
    part = chart("part", {}, subcharts={"deep": deep})
    return chart_stage.packed(chart("shop", {}, subcharts={"part": part}))


@pytest.mark.slow
async def test_each_ends_as_it_should_in_a_subchart_and_is_told_by_its_path(run: Run) -> None:
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
@pytest.mark.parametrize("name", ["init-exit-3", "init-two-documents", "init-never"])
async def test_what_cannot_say_what_it_is_ends_all_before_anything_is_changed(run: Run, name: str) -> None:
    async with run(IMAGES) as stack:
        outcome = await stack.install("shop", nested(name, *GOOD), on_failure=OnFailure.CONTINUE)
        assert leftovers(stack) == []
    path = f"shop.part.deep:{name}"
    assert CASES[name].message in outcome.nodes[path].message
    assert outcome.operation.cause is not None
    assert outcome.operation.cause["path"] == path
    assert [outcome.actions(f"shop.part.deep:{other}") for other in GOOD] == [[]] * len(GOOD)
