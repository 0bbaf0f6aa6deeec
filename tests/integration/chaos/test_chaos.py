"""Every kind of fault, once, at the same time as writers and watchers of all kinds; `make chaos` does it for minutes.

The same by hand: `make chaos-log SEED=20 SECONDS=4`.
"""

from pathlib import Path

import pytest

from support.chaos import run
from support.chaos.kind import Kind
from tinkwell.server.app.dev import place

SEED = 20
SECONDS = 4.0


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_no_promise_to_a_watcher_is_broken_while_everything_else_is(tmp_path: Path) -> None:
    with place.temporary() as directory:
        result = await run.run(run.Options(SEED, SECONDS, 1, directory, tmp_path / "history.jsonl"))
    print(result.text)
    assert result.violations == []
    assert set(result.injected) == set(Kind)
