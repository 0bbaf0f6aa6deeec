"""The command line, as far as it needs no server."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from support.same_process import same_process
from tinkwell.cli.main import main
from tinkwell.provisioner.chart import life, rendering
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.schema.check import Schemas

EXAMPLES = Path(__file__).parents[4] / "examples" / "charts"
HELM_CHARTS = Path(__file__).parents[3] / "support" / "helm_charts"


class CommandLine:
    """`tinkwell chart`, in this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, *args: str, stdin: str | None = None) -> tuple[int, str, str]:
        """Run a command to its end; gives its exit code, output, and what it said on standard error."""
        result = CliRunner().invoke(main, ["chart", *args], input=stdin)
        return result.exit_code, result.stdout, result.stderr

    def ok(self, *args: str, stdin: str | None = None) -> str:
        """Run a command that must succeed without a word on standard error; gives its output."""
        code, output, error = self.run(*args, stdin=stdin)
        assert (code, error) == (0, ""), (args, output, error)
        return output

    def fails(self, *args: str, code: int = 1, stdin: str | None = None) -> str:
        """Run a command that must fail; gives what it said on standard error."""
        found, output, error = self.run(*args, stdin=stdin)
        assert found == code, (args, output, error)
        return error

    def json(self, *args: str, code: int = 0) -> Any:
        """Run a command with `-o json`; gives what it printed."""
        found, output, error = self.run(*args, "-o", "json")
        assert (found, error) == (code, ""), (args, output, error)
        return json.loads(output)

    def chart(self, files: dict[str, str], name: str = "shop") -> str:
        """Write the files of a chart; without a Chart.yaml it gets one."""
        folder = self._folder / name
        metadata = {"Chart.yaml": metadata_of(name)}
        for path, text in (metadata | files).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return str(folder)


def metadata_of(name: str, more: str = "") -> str:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n{more}"


@pytest.fixture(autouse=True)
def _same_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluate and check in the test's own process: to start a child for each takes long."""
    monkeypatch.setattr(rendering, "Expressions", functools.partial(Expressions, make_child=same_process))
    for module in (life, rendering):
        monkeypatch.setattr(module, "Schemas", functools.partial(Schemas, make_child=same_process))


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
