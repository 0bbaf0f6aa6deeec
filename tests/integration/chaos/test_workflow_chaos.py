"""The worst kinds of faults, once, while workflows run; `make chaos-workflows` does it for minutes with many more."""

from pathlib import Path

import pytest

from support.workflow_chaos import run
from support.workflow_chaos.fault import Kind
from tinkwell.server.app.dev import place

# Those that others do not do with more force.
KINDS = (
    Kind.KILLED_PROVISIONER,
    Kind.DREAMING_PROVISIONER,
    Kind.MISSED_AGENT,
    Kind.DREAMING_AGENT,
    Kind.REBOOT,
    Kind.KILLED_RUN,
    Kind.KILLED_SUPERVISOR,
    Kind.KILLED_SERVER,
    Kind.IMMEDIATE_RESTART,
)


@pytest.mark.slow
@pytest.mark.timeout(420)
async def test_every_workflow_ends_as_it_should_while_everything_that_brings_it_there_is_killed(tmp_path: Path) -> None:
    with place.temporary() as directory:
        options = run.Options(
            seed=20,
            seconds=6.0,
            rounds=1,
            directory=directory,
            output=tmp_path / "history.jsonl",
            workflows=7,
            machines=6,
            provisioners=2,
            agents=2,
            lease_seconds=2.0,
            pace=0.4,
            kinds=KINDS,
        )
        result = await run.run(options)
    print(result.text)
    assert result.violations == []
    assert set(result.injected) == set(KINDS)
