"""The stage that tests of the driver and the agent play on."""

from collections.abc import AsyncIterator, Callable, Mapping

import pytest
from unit.provisioner import stage as support

from support.patient_loop import PatientLoop
from tinkwell.client import call, retry
from tinkwell.provisioner.agent import agent, deadline


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], PatientLoop]]:
    """Let leases and limits of tenths of a second pass only while the test waits for them."""
    return {"patient": PatientLoop}


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[support.Stage]:
    """An empty stage, on which nobody waits for long."""
    monkeypatch.setattr(retry, "LONGEST_SECONDS", 0.01)
    monkeypatch.setattr(deadline, "ADOPTION_SECONDS", 0.05)
    monkeypatch.setattr(agent, "LAST_OUTPUT_SECONDS", 0.05)
    # What is to be tried again is the provisioner's business here.
    monkeypatch.setattr(call, "TRIES", 1)
    async with support.Stage() as prepared:
        yield prepared
