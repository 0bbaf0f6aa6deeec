"""The options of `tinkwell dev`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tinkwell.server.app import commands
from tinkwell.server.app.dev import stack


@pytest.mark.parametrize(
    ("given", "runtime"),
    [
        ((), "auto"),
        (("--process-images", "."), "process"),
        (("--process-images", ".", "--runtime", "auto"), "auto"),
        (("--process-images", ".", "--runtime", "docker"), "docker"),
        (("--runtime", "process"), "process"),
    ],
)
def test_images_of_processes_choose_processes_unless_told_otherwise(
    given: tuple[str, ...], runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[stack.Options] = []

    async def run(options: stack.Options, *, ready: object) -> None:
        chosen.append(options)

    monkeypatch.setattr(stack, "run", run)
    result = CliRunner().invoke(commands.dev, given)
    assert result.exit_code == 0, result.output
    assert [(each.runtime, each.images) for each in chosen] == [(runtime, Path() if "." in given else None)]
