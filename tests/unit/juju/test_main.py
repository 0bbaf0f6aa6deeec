"""The command line itself: what it finds, what it refuses, and how it says so."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from unit.juju.stage import JujuLine

from tinkwell.client import errors
from tinkwell.juju import table
from tinkwell.juju.main import main
from tinkwell.juju.shell import failure

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "juju.md"


def test_each_command_of_the_table_is_there_with_the_name_that_it_has_in_the_table() -> None:
    for name, entry in table.COMMANDS.items():
        assert entry.load().name == name
        assert entry.load().help, name


def test_no_command_is_both_there_and_refused_and_no_name_stands_for_two() -> None:
    names = [name for key, entry in table.COMMANDS.items() for name in (key, *entry.aliases)]
    assert len(names) == len(set(names))
    assert not set(names) & set(table.REFUSED)


def test_the_page_for_readers_names_each_command() -> None:
    page = PAGE.read_text()
    assert [name for name in table.COMMANDS if f"`{name}`" not in page] == []


def test_an_unknown_command_is_refused_in_jujus_words(juju: JujuLine) -> None:
    assert juju.fails("frobnicate", code=2) == 'ERROR juju: "frobnicate" is not a juju command. See "juju --help".\n'


def test_an_unknown_option_is_refused_in_jujus_words(juju: JujuLine) -> None:
    assert juju.fails("version", "--colour", code=2) == "ERROR option provided but not defined: --colour\n"


def test_what_else_is_wrong_on_the_command_line_is_one_sentence(juju: JujuLine) -> None:
    assert juju.fails("version", "now", code=2) == "ERROR got unexpected extra argument (now)\n"


def test_help_lists_the_commands() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in table.COMMANDS)


def test_a_timeout_of_nothing_is_refused(juju: JujuLine) -> None:
    result = juju.run("models", env={"TINKWELL_TIMEOUT": "0s"})
    assert (result.exit_code, result.stderr) == (
        1,
        "ERROR TINKWELL_TIMEOUT: '0s' leaves no time for an answer; write it as 30s or 5m\n",
    )


def test_without_a_command_there_is_help() -> None:
    result = CliRunner().invoke(main, [])
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == CliRunner().invoke(main, ["--help"]).stdout


def test_the_version_is_the_one_that_charms_are_told(juju: JujuLine) -> None:
    text = juju.ok("version").strip()
    assert text.startswith("3.6.9-tinkwell-")
    assert juju.json("version") == text
    assert juju.json("version", "--all") == {"version": text}
    assert juju.ok("version", "--all", "--format", "yaml").startswith("version: ")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (click.UsageError("Missing argument 'UNIT'."), "ERROR missing argument 'UNIT'"),
        (errors.Unauthenticated("no token"), "ERROR no token; set TINKWELL_TOKEN to a token of the server"),
        (
            errors.Unavailable("nobody is there"),
            'ERROR nobody is there; start one with "tinkwell dev", or name another with TINKWELL_SERVER',
        ),
        (FileNotFoundError(2, "No such file or directory", "a.yaml"), "ERROR a.yaml: No such file or directory"),
        (ValueError("x"), "ERROR ValueError: x (a mistake in tinkwell-juju; --debug shows where)"),
    ],
)
def test_an_error_is_one_sentence(error: Exception, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    failure.show(error)
    assert capsys.readouterr().err == f"{text}\n"


def test_what_stands_under_a_name_that_there_is_not_is_not_found() -> None:
    error = errors.NotFound("", details=errors.Details(resource_type="UNIT", resource_id="web/0"))
    assert failure.describe(error) == 'unit "web/0" not found'


def test_a_secret_that_there_is_not_is_named_without_its_namespace() -> None:
    error = errors.NotFound("", details=errors.Details(resource_type="SECRET", resource_id="api of namespace shop"))
    assert failure.describe(error) == 'secret "api" not found'
