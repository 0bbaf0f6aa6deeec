"""A chart is rendered by the real command, in real child processes."""

import subprocess
from pathlib import Path

import pytest
from integration.cli.running import TINKWELL, WAIT_SECONDS

EXAMPLES = Path(__file__).parents[4] / "examples" / "charts"


@pytest.mark.parametrize(("verb", "text"), [("template", "---\n# shop.web\n"), ("lint", "0 errors, 0 warnings")])
def test_an_example_is_rendered_and_nothing_is_said(verb: str, text: str) -> None:
    done = subprocess.run(
        [TINKWELL, "chart", verb, str(EXAMPLES / "shop")],
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_SECONDS,
    )
    assert text in done.stdout
    assert done.stderr == ""
