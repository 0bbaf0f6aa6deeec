"""The command line with a fake server."""

from collections.abc import Iterator

import pytest

from support.command_line import CommandLine


@pytest.fixture
def cli() -> Iterator[CommandLine]:
    with CommandLine() as command_line:
        yield command_line
