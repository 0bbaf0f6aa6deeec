"""What tests of the driver of releases share."""

from pathlib import Path

import pytest
from unit.provisioner.release.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)
