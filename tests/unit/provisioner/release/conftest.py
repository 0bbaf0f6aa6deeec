"""What tests of the driver of releases share."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage

from support.patient_loop import PatientLoop


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], PatientLoop]]:
    """Let a module choose its loop by `LOOP`: a hasty one waits for no limit of a second."""
    assert isinstance(item, pytest.Function)
    return {"patient": getattr(item.module, "LOOP", PatientLoop)}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    found = Stage(tmp_path)
    yield found
    await found.images.close()
