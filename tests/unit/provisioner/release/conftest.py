"""What tests of the driver of releases share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    found = Stage(tmp_path)
    yield found
    await found.images.close()
