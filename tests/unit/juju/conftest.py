"""Juju's command line with a fake server, and with applications there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from unit.juju.stage import JujuLine, Site


@pytest.fixture
def juju(tmp_path: Path) -> Iterator[JujuLine]:
    folder = tmp_path / "juju"
    folder.mkdir()
    with JujuLine(folder) as command_line:
        yield command_line


@pytest.fixture
def site(juju: JujuLine, tmp_path: Path) -> Site:
    return Site(juju, tmp_path)
