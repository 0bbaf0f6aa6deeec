"""The command line with a fake server, and a terminal for it."""

from collections.abc import AsyncIterator, Iterator

import pytest
from integration.cli.running import Terminal

from support.command_line import CommandLine


@pytest.fixture
def cli() -> Iterator[CommandLine]:
    with CommandLine() as command_line:
        yield command_line


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()
