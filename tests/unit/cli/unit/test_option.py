"""Options of the commands for units that say what they do not understand."""

from pathlib import Path

import pytest
from unit.cli.unit.conftest import Site

from support.command_line import CommandLine


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--storage", "=1"), "--storage: '=1' is not NAME=COUNT, such as data=1"),
        (("--storage", "data=many"), "--storage: 'data=many' is not NAME=COUNT, such as data=1"),
        (("--storage", "data=-1"), "--storage: 'data=-1' is not NAME=COUNT, such as data=1"),
        (("--config", "workers"), "'workers' is not NAME=VALUE, such as workers=4"),
        (("--config", "=4"), "'=4' is not NAME=VALUE, such as workers=4"),
        (("--to", "anywhere", "--to", "anywhere"), "--to anywhere is for all units at once; give it alone"),
    ],
)
def test_an_option_that_says_nothing_is_refused(site: Site, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in site.cli.fails("app", "deploy", "web", site.web, *arguments, code=2)
    assert site.cli.json("app", "list") == []


def test_storage_without_a_count_is_one(site: Site) -> None:
    site.cli.ok("app", "deploy", "web", site.web, "--to", "anywhere", "--storage", "data")
    site.run()
    assert site.cli.json("unit", "status", "web/0")["storage"] == ["data/0"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("workers: [1\n", "line 2, column 1: "),
        ("- workers\n", "must hold one object, whose keys are options"),
        ("workers: 1\n---\nworkers: 2\n", "must hold one object, whose keys are options"),
        ("", "must hold one object, whose keys are options"),
    ],
)
def test_a_file_that_is_no_configuration_is_said_to_be_none(
    deployed: Site, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "options.yaml"
    path.write_text(text)
    said = deployed.cli.fails("app", "config", "web", "--file", str(path))
    assert f"{path}: " in said
    assert sentence in said


def test_what_is_written_goes_over_what_the_file_has(deployed: Site, tmp_path: Path) -> None:
    path = tmp_path / "options.yaml"
    path.write_text("workers: 7\ntitle: of the file\n")
    deployed.cli.ok("app", "config", "web", "--file", str(path), "title=written")
    assert deployed.cli.json("app", "config", "web") == {"workers": 7, "title": "written"}


@pytest.mark.parametrize("command", [("app", "status"), ("app", "remove"), ("app", "config")])
def test_what_is_no_name_of_an_application_is_refused(cli: CommandLine, command: tuple[str, ...]) -> None:
    assert "is not the name of an application" in cli.fails(*command, "web/0", code=2)
