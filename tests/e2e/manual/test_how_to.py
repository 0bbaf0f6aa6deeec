"""What the commands of the how-to pages print is what they say."""

from pathlib import Path

import pytest

from support import console, page

# A page has up to twenty commands, and each of them is a process of its own that imports the client.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("name", console.pages("how-to"))
async def test_the_commands_of_a_page_print_what_it_says(name: str, tmp_path: Path) -> None:
    assert await console.follow(page.read(name), tmp_path) >= 1
