"""What the page about the database shows is what a reader gets: a fail-over, a backup, and what is said meanwhile."""

import asyncio
import contextlib
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from support import page, process, release_stack, role, standby
from tinkwell.server.app.dev import place, postgres

BIN_DIR = Path(os.environ["PG_BIN"]) if os.environ.get("PG_BIN") else None
COMMAND_SECONDS = 60


async def run(line: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command line in a shell, and return what it prints on both of its outputs."""
    started = await asyncio.create_subprocess_shell(
        line,
        cwd=folder,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(COMMAND_SECONDS):
        printed, _ = await started.communicate()
    return printed.decode()


async def test_the_commands_of_the_pages_about_the_database_print_what_they_say(tmp_path: Path) -> None:
    commands = [*page.commands(page.read("how-to/failover.md")), *page.commands(page.read("how-to/database.md"))]
    async with contextlib.AsyncExitStack() as stack:
        state_dir = stack.enter_context(place.temporary())
        primary = await stack.enter_async_context(postgres.embedded(state_dir, bin_dir=BIN_DIR, roles=role.ALL))
        follower = await stack.enter_async_context(standby.running(primary.url, durable=True))
        url = f"{follower.urls}&target_session_attrs=primary"
        environment = {
            "PATH": release_stack.path(),
            "PRIMARY": primary.url,
            "STANDBY": follower.url,
            "RESTORED": urllib.parse.urlsplit(url)._replace(path="/restored").geturl(),
            "TINKWELL_DATABASE_URL": url,
        }
        assert "The schema is at" in await run("tinkwell db upgrade", tmp_path, environment)
        serving = process.running(
            "server", "--port", "0", "--http-port", "0", log=tmp_path / "server.log", environment=environment
        )
        server = await stack.enter_async_context(serving)
        environment["TINKWELL_SERVER"] = (await server.line(r"^gRPC +(\S+)$"))[1]
        for command in commands:
            printed = await run(command.line, tmp_path, environment)
            assert page.agrees(command.output, printed), f"$ {command.line}\n{printed}\n{server.output}"
    assert len(commands) >= 12
