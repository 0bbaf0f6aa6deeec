"""The folder of an agent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tinkwell.charm.agent.folder import AgentFolder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[AgentFolder]:
    opened = AgentFolder.open(tmp_path / "agent")
    yield opened
    opened.close()
