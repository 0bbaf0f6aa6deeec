"""What the command imports when it starts, and that a shell takes its completion."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from tinkwell.cli import main


def test_the_help_lists_components_without_importing_them() -> None:
    script = (
        "import sys; from tinkwell.cli.main import main\n"
        "try: main(['--help'])\n"
        "finally: print(sorted(n for n in sys.modules if n.split('.')[0] in {'grpc', 'asyncio', 'ruamel', 'asyncpg'}"
        " or n.startswith(('tinkwell.server', 'tinkwell.provisioner', 'tinkwell.client'))), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    for name in ("dev", "server", "provisioner", "agent", "db", "resource"):
        assert f" {name} " in done.stdout


@pytest.mark.parametrize("line", ["workflow logs", "release install", "chart", "chart dag", "resource test"])
def test_the_help_of_a_command_imports_nothing_heavy(line: str) -> None:
    script = (
        "import sys; from tinkwell.cli.main import main\n"
        f"try: main([*{line!r}.split(), '--help'])\n"
        "finally: print({'grpc', 'asyncio', 'ruamel.yaml', 'networkx', 'jinja2'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"


def test_bash_takes_the_completion_script() -> None:
    script = CliRunner().invoke(main.main, ("completion", "bash")).stdout
    done = subprocess.run(["bash", "-c", f"{script}\ncomplete -p tinkwell"], capture_output=True, text=True, check=True)
    assert "_tinkwell_completion" in done.stdout
