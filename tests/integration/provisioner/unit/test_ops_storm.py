"""What a charm of ops hears and leaves is what `ops.testing` has of the same events and states."""

from pathlib import Path

import pytest

import tinkwell.client
from support.ops_storm.storm import storm
from tinkwell.client import testing


# Each of some forty events is a process that imports ops, and then an event of ops.testing.
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # ops deprecates events that the document has
@pytest.mark.slow
async def test_ops_testing_takes_each_event_and_comes_to_the_same(tmp_path: Path) -> None:
    async with testing.FakeServer() as server, tinkwell.client.connect(server.address) as client:
        found = await storm(client, tmp_path, seed=1, steps=2)
    assert found.differences == []
    assert {"install", "config-changed", "start", "stop", "remove"} <= found.events.keys()
