"""The worst kinds of faults, once, while releases are brought about; `make chaos-releases` does it with many more."""

from pathlib import Path

import pytest

from support.release_chaos import run
from support.release_chaos.fault import Kind
from tinkwell.server.app.dev import place

# Those that others do not do with more force.
KINDS = (
    Kind.KILLED_PROVISIONER,
    Kind.DREAMING_PROVISIONER,
    Kind.DESERTED_ENGINE,
    Kind.REBOOT,
    Kind.KILLED_RUN,
    Kind.KILLED_SUPERVISOR,
    Kind.KILLED_SERVER,
    Kind.IMMEDIATE_RESTART,
)


@pytest.mark.slow
@pytest.mark.timeout(420)
async def test_every_operation_settles_and_no_action_runs_twice_at_once_while_all_is_killed(tmp_path: Path) -> None:
    with place.temporary() as directory:
        options = run.Options(
            seed=20,
            seconds=6.0,
            rounds=1,
            directory=directory,
            output=tmp_path / "history.jsonl",
            releases=5,
            lease_seconds=2.0,
            pace=0.4,
            kinds=KINDS,
        )
        result = await run.run(options)
    print(result.text)
    assert result.violations == []
    assert set(result.injected) == set(KINDS)
