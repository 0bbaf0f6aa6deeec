"""The charm of docs/tutorial/first-charm.md does what the page says."""

import re
import sys
from pathlib import Path

from support.author import EXAMPLES
from tinkwell.charm.agent import program

PAGE = EXAMPLES.parent.parent / "docs" / "tutorial" / "first-charm.md"


async def test_the_charm_of_the_tutorial_passes_its_test(tmp_path: Path) -> None:
    listings = dict(re.findall(r"```python\n# (\S+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL))
    for name, text in listings.items():
        (tmp_path / name).write_text(text)
    try:
        program.load(f"{tmp_path / 'page.py'}:Page")
        tests = compile(listings["test_page.py"], "test_page.py", "exec")
        found: dict[str, object] = {"__name__": "test_page"}
        exec(tests, found)
        run = found["test_a_page_has_all_texts"]
        assert callable(run)
        await run()
    finally:
        sys.modules.pop("page", None)
