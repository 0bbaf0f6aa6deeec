"""Releases that are brought about by provisioners as processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.release_stage import Stage
from tinkwell.client import Client


@pytest.fixture
def stage(client: Client, server_address: str, tmp_path: Path) -> Iterator[Stage]:
    """A server, and images of resources that are files; no call of one waits any longer than its test."""
    stage = Stage(client, server_address, tmp_path)
    yield stage
    stage.let_all_go()
