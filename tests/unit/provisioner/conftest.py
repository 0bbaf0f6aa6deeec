"""The stage that tests of the driver and the agent play on."""

import pytest
from unit.provisioner import stage as support

from tinkwell.provisioner import agent, retry


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> support.Stage:
    """An empty stage, on which nobody waits for long."""
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    monkeypatch.setattr(agent, "ADOPTION_SECONDS", 0.05)
    monkeypatch.setattr(agent, "LAST_OUTPUT_SECONDS", 0.05)
    return support.Stage()
