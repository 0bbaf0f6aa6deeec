"""What a charm of ops hears and leaves is what `ops.testing` has of the same events and states."""

from pathlib import Path

import pytest

from support.ops_storm.storm import storm
from tinkwell.client import Client


@pytest.mark.slow
async def test_ops_testing_takes_each_event_and_comes_to_the_same(client: Client, tmp_path: Path) -> None:
    found = await storm(client, tmp_path, seed=1)
    assert found.differences == []
    assert {"install", "config-changed", "start", "stop", "remove"} <= found.events.keys()
