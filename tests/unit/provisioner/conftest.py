"""The stage that tests of the driver and the agent play on."""

from collections.abc import Callable, Mapping

import pytest
from unit.provisioner import stage as support

from support.patient_loop import PatientLoop
from tinkwell.provisioner.agent import agent
from tinkwell.provisioner.queue import retry


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], PatientLoop]]:
    """Let leases and limits of tenths of a second pass only while the test waits for them."""
    return {"patient": PatientLoop}


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> support.Stage:
    """An empty stage, on which nobody waits for long."""
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    monkeypatch.setattr(agent, "ADOPTION_SECONDS", 0.05)
    monkeypatch.setattr(agent, "LAST_OUTPUT_SECONDS", 0.05)
    return support.Stage()
