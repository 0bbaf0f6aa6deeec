"""Runs the `console` blocks of a page as a reader would: in order, in one shell, beside one `tinkwell dev`.

The page's folder has `examples` in it, and each file that the page shows: a block whose first line is a comment with
nothing but the file's name, or whose use is that name. A command that starts `tinkwell dev` starts it here, on free
ports; where a page has none, one is started with the images of the demo. An id that a command prints stands for the id
that the page shows in its place, also in later commands.
"""

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support import page, process, release_stack
from support.release_stack import EXAMPLES

COMMAND_SECONDS = 90
# Pages whose commands need more than a server, and the test that runs these.
OWN = {
    "how-to/database.md": "tests/e2e/test_database_page.py",
    "how-to/failover.md": "tests/e2e/test_database_page.py",
    "how-to/resource-image.md": "tests/e2e/release/test_page.py",
}
_DEV = "tinkwell dev --process-images examples/demo/images"
_READY = r"^gRPC +(\S+)\nHTTP +(\S+)\nDatabase +(\S+)$"
_ID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
_FILE = re.compile(r"# (\S+\.\w+)\n")
# The shell of one command hands its variables and its folder on to that of the next one.
_SHELL = """
[ -e "$CONSOLE/state" ] && . "$CONSOLE/state"
trap 'export -p > "$CONSOLE/state"; printf "cd %q\\n" "$PWD" >> "$CONSOLE/state"' EXIT
{line}
"""


@dataclass(slots=True)
class Shell:
    """One shell of a reader, and the ids that stand for those of the page."""

    folder: Path
    environment: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict)
    _groups: list[int] = field(default_factory=list)

    async def run(self, line: str) -> tuple[int, str]:
        """Run a command line; return its exit code and all that it prints. What it leaves behind goes on."""
        for shown, real in self.ids.items():
            line = line.replace(shown, real)
        # What an earlier command has left running still writes into the file of that one.
        output = self.folder.parent / f"output-{len(self._groups)}"
        with output.open("w+b") as file:
            started = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                _SHELL.replace("{line}", line),
                cwd=self.folder,
                env={**os.environ, **self.environment, "CONSOLE": str(self.folder.parent)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            self._groups.append(started.pid)
            async with asyncio.timeout(COMMAND_SECONDS):
                code = await started.wait()
            file.seek(0)
            return code, file.read().decode()

    def learn(self, told: tuple[str, ...], printed: str) -> None:
        """Remember which printed id stands for which one of the page, where both have as many."""
        shown, real = _ID.findall("\n".join(told)), _ID.findall(printed)
        if len(shown) == len(real):
            self.ids.update(zip(shown, real, strict=True))

    def close(self) -> None:
        """End what commands have left behind."""
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def pages(folder: str = "") -> list[str]:
    """Return the pages in a folder of the manual, or of the top, that have commands to run and no test of their own."""
    paths = (page.DOCS / folder).glob("*.md") if folder else [page.DOCS / "../README.md", page.DOCS / "README.md"]
    names = sorted(os.path.relpath(path, page.DOCS) for path in paths)
    return [name for name in names if name not in OWN and page.commands(page.read(name))]


def write_files(text: str, folder: Path) -> None:
    """Write the files that a page shows into a folder."""
    for block in page.blocks(text):
        comment = _FILE.match(block.text)
        name = comment[1] if comment else block.use if re.fullmatch(r"[\w./-]+", block.use) else ""
        if name and block.language != "console":
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
            file.chmod(0o755)


async def follow(text: str, tmp_path: Path) -> int:
    """Run the commands of a page and compare what they print with what it says; return how many there were."""
    commands = page.commands(text)
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "examples").symlink_to(EXAMPLES, target_is_directory=True)
    write_files(text, folder)
    starts = [number for number, command in enumerate(commands) if _starts_server(command.line)]
    assert len(starts) <= 1, "a page starts one server"
    at = starts[0] if starts else 0
    settings = {
        "PATH": release_stack.path(),
        "TINKWELL_PORT": "0",
        "TINKWELL_HTTP_PORT": "0",
        "XDG_STATE_HOME": str(tmp_path / "state-home"),
    }
    if os.environ.get("PG_BIN"):
        settings["TINKWELL_PG_BIN"] = os.environ["PG_BIN"]
    shell = Shell(folder, settings)
    with contextlib.closing(shell):
        for command in commands[:at]:
            await _check(command, shell)
        line = commands[at].line if starts else _DEV
        async with _serving(line, shell) as announced:
            if starts:
                assert page.agrees(commands[at].output or ("…",), announced)
            for command in commands[at + len(starts) :]:
                await _check(command, shell)
    return len(commands)


def _starts_server(line: str) -> bool:
    return line.startswith(("tinkwell dev", "make dev"))


@contextlib.asynccontextmanager
async def _serving(line: str, shell: Shell) -> AsyncIterator[str]:
    """Run `tinkwell dev` as a line has it; give what it announces, and tell the shell where it is."""
    words = shlex.split(line.removesuffix("&"))
    arguments = words[1:] if words[0] == "tinkwell" else shlex.split(_DEV)[1:]
    log = shell.folder.parent / "dev.log"
    async with process.running(*arguments, log=log, environment=shell.environment, folder=shell.folder) as dev:
        ready = await dev.line(_READY, deadline_seconds=60)
        shell.environment |= _addresses(ready)
        # Before that, commands tell of a provisioner that is missing.
        await dev.line("a lease is acquired", deadline_seconds=60)
        yield ready[0]


def _addresses(ready: re.Match[str]) -> Mapping[str, str]:
    return {"TINKWELL_SERVER": ready[1], "HTTP": ready[2], "DATABASE": ready[3]}


async def _check(command: page.Command, shell: Shell) -> None:
    code, printed = await shell.run(command.line)
    if not command.output:
        assert code == 0, f"$ {command.line}\n{printed}"
        return
    # A tree is what terminals get; elsewhere other lines come, of which the last one is the same.
    is_tree = any(line.lstrip(" │").startswith(("├", "└")) for line in command.output)
    after = () if not is_tree or command.output[-1].lstrip(" │").startswith(("├", "└")) else command.output[-1:]
    told = ("…", *after) if is_tree else command.output
    assert page.agrees(told, printed), f"$ {command.line}\n{printed}"
    shell.learn(told, printed)
