"""Commands that take the connection options after their name."""

import rich_click as click
from click.testing import CliRunner

from tinkwell.cli.shell import command, connection


@click.command(cls=command.Command)
@click.option("--timeout", help="Longest time for all of it.")
def slow(timeout: str) -> None:
    chosen = connection.current()
    click.echo(f"{timeout} {chosen.timeout} {chosen.server}")


def test_an_option_that_means_something_else_to_a_command_is_its_own() -> None:
    result = CliRunner().invoke(slow, ["--timeout", "forever", "--server", "a:1"])
    assert (result.exit_code, result.stdout) == (0, "forever 30.0 a:1\n")
