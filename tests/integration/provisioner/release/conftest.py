"""Releases that are brought about by provisioners as processes."""

from pathlib import Path

import pytest

from support.release_stage import Stage
from tinkwell.client import Client


@pytest.fixture
def stage(client: Client, server_address: str, tmp_path: Path) -> Stage:
    """A server, and images of resources that are files."""
    return Stage(client, server_address, tmp_path)
