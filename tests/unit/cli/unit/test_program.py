"""Charms that are written in Python, on the command line."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tinkwell.client
from support.command_line import CommandLine
from tinkwell.charm.agent.agent import Wanted
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.cli.unit import running

PROGRAM = '''
from tinkwell import charm

class Web(charm.Charm):
    """Serves one page."""

    db = charm.Requires("db", interface="postgresql")
'''


@pytest.fixture
def program(tmp_path: Path) -> Iterator[str]:
    path, paths = tmp_path / "web_of_tests.py", list(sys.path)
    path.write_text(PROGRAM)
    yield str(path)
    sys.modules.pop(path.stem, None)
    sys.path[:] = paths


def test_a_program_is_inspected_without_a_server(cli: CommandLine, program: str) -> None:
    found = cli.json("charm", "inspect", f"{program}:Web")
    assert (found["name"], found["kind"], found["summary"]) == ("web", "native", "Serves one page.")
    assert found["requires"] == {"db": {"interface": "postgresql"}}


def test_a_program_is_deployed(cli: CommandLine, program: str) -> None:
    digest = cli.json("charm", "inspect", program)["digest"]
    cli.ok("app", "deploy", "web", program, "--to", "anywhere")
    assert cli.json("charm", "list")[0]["digest"] == digest
    assert cli.json("charm", "push", program)["digest"] == digest


def test_what_is_no_program_is_said_in_a_sentence(cli: CommandLine, program: str) -> None:
    assert "has no class Page" in cli.fails("charm", "inspect", f"{program}:Page")
    assert "nowhere.py is no file" in cli.fails("app", "deploy", "web", "nowhere.py")
    assert "there is no such charm" in cli.fails("charm", "inspect", "nowhere")
    assert "has no class Page" in cli.fails("unit", "run", f"{program}:Page", "--application", "web")


def test_the_folder_of_a_program_is_told_from_that_of_a_charm(cli: CommandLine, program: str) -> None:
    folder = Path(program).parent
    assert cli.fails("app", "deploy", "web", str(folder)) == (
        f"Error: {folder}: has no charm.yaml; a charm that is a program is named by its file: {program}\n"
    )


def test_an_agent_says_which_units_it_waits_for(
    cli: CommandLine, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def told(*machines: str) -> str:
        async with tinkwell.client.connect(cli.fake.address) as client:
            wanted = Wanted(application="web", machines=machines)
            await running.say_what_is_awaited(client, wanted, machines)
        return capsys.readouterr().err

    assert asyncio.run(told()) == (
        "There is no application web in namespace default yet; this agent waits for one of that name.\n"
    )
    cli.ok("app", "deploy", "web", program, "--to", "anywhere")
    assert asyncio.run(told()) == ""
    assert asyncio.run(told("rack1")) == "No unit of web is placed on machine rack1 yet; this agent waits for one.\n"
    run = ("unit", "run", program, "--application", "NONE")
    assert "is not the name of an application" in cli.fails(*run, code=2)


def test_a_folder_serves_one_agent(cli: CommandLine, program: str, tmp_path: Path) -> None:
    folder = AgentFolder.open(tmp_path / "state")
    run = ("unit", "run", program, "--application", "web", "--state-dir", str(tmp_path / "state"))
    assert "another agent uses" in cli.fails(*run)
    folder.close()
