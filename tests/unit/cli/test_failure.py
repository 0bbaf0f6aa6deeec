"""What users are told when something goes wrong."""

import pytest
from click.testing import CliRunner

from support.command_line import CommandLine
from tinkwell.cli import failure
from tinkwell.cli.main import main
from tinkwell.cli.shell import session
from tinkwell.client import errors as client_errors
from tinkwell.core import errors
from tinkwell.core.process_log import setup

NOWHERE = "localhost:1"


@pytest.mark.parametrize("command", [("hardware", "list"), ("events", "watch"), ("workflow", "logs", "x", "-f")])
def test_a_server_that_is_not_there_is_named_with_what_to_do(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*command, "--server", NOWHERE])
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: no server is available at {NOWHERE}: Connection refused; "
        'start one with "tinkwell dev", or name another with --server or TINKWELL_SERVER\n'
    )


def test_a_server_that_is_there_and_cannot_serve_says_so_itself(cli: CommandLine) -> None:
    cli.do(lambda server: server.fail_next(errors.Unavailable("the database is gone"), times=10))
    stderr = cli.fails("hardware", "list")
    assert "the database is gone" in stderr
    assert "tinkwell dev" not in stderr


def test_what_a_server_says_is_not_obeyed_by_a_terminal(cli: CommandLine) -> None:
    cli.do(lambda server: server.fail_next(errors.Unavailable("gone \x1b]0;t\x07\x9b2J\u202e"), times=10))
    assert "gone \\x1b]0;t\\x07\\x9b2J\\u202e" in cli.fails("hardware", "list")


@pytest.mark.parametrize(
    "line",
    [
        ("--server", "{}", "hardware", "list"),
        ("hardware", "list", "--server", "{}"),
        ("hardware", "list", "-s", "{}"),
        ("-s", NOWHERE, "hardware", "list", "-s", "{}"),
    ],
)
def test_the_server_is_named_before_or_after_the_command_and_the_last_one_counts(
    cli: CommandLine, line: tuple[str, ...]
) -> None:
    result = CliRunner().invoke(
        main, [word.format(cli.fake.address) for word in line], env={"TINKWELL_SERVER": NOWHERE}
    )
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--server", "http://localhost:1"), "--server: 'http://localhost:1' is not host:port"),
        (("--tls-ca", "/nowhere"), "--tls-ca: /nowhere: No such file or directory"),
        (("--tls-cert", "/nowhere"), "--tls-cert: "),
        (("--token", "ä"), "--token: must be visible ASCII"),
        (("--timeout", "5"), "has no unit"),
    ],
)
def test_a_connection_option_that_makes_no_sense_is_a_usage_error(
    cli: CommandLine, options: tuple[str, ...], message: str
) -> None:
    assert message in cli.fails("hardware", "list", *options, code=2)


def test_a_token_is_sent_and_never_shown(cli: CommandLine) -> None:
    result = cli.run("hardware", "list", "--token", "s3cret")
    assert "s3cret" not in result.output
    [call] = cli.do(lambda server: server.calls)
    assert call.metadata["authorization"] == "Bearer s3cret"


def test_a_token_comes_from_the_environment_too(cli: CommandLine) -> None:
    cli.run("hardware", "list", env={"TINKWELL_TOKEN": "s3cret"})
    [call] = cli.do(lambda server: server.calls)
    assert call.metadata["authorization"] == "Bearer s3cret"


def test_what_does_not_exist_is_named_as_users_write_it(cli: CommandLine) -> None:
    cli.do(lambda server: server.fail_next(errors.NotFound("HARDWARE", "10.0.0.1"), method="ByIP"))
    assert cli.fails("hardware", "get", "10.0.0.1") == "Error: hardware 10.0.0.1 does not exist\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (client_errors.DeadlineExceeded("the server did not answer in time"), "the server did not answer in time"),
        (client_errors.Unauthenticated("no token"), "no token; give a token with --token or TINKWELL_TOKEN"),
        (
            client_errors.Internal("it broke", details=client_errors.Details("INTERNAL", {"reference": "r1"})),
            "it broke (the server's log has it under r1)",
        ),
        (errors.LostRace("too late"), "too late"),
        (OSError(28, "No space left"), "No space left"),
        (FileNotFoundError(2, "No such file", "/x"), "/x: No such file"),
        (KeyError("x"), "KeyError: 'x' (a mistake in tinkwell; --debug shows where)"),
    ],
)
def test_every_error_is_one_sentence(error: Exception, sentence: str) -> None:
    assert failure.describe(error) == sentence


def test_a_mistake_of_the_program_is_one_sentence(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_actor", lambda: 1 / 0)
    stderr = cli.fails("hardware", "list")
    assert stderr == "Error: ZeroDivisionError: division by zero (a mistake in tinkwell; --debug shows where)\n"


@pytest.mark.parametrize("where", [("--debug", "hardware", "list"), ("hardware", "list", "--debug")])
def test_debug_shows_where_an_error_comes_from(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    levels: list[str] = []
    monkeypatch.setattr(setup, "set_up", levels.append)  # the log of this process is the tests' own
    monkeypatch.setattr(session, "_actor", lambda: 1 / 0)
    assert isinstance(cli.run(*where).exception, ZeroDivisionError)
    assert levels == ["debug"]


def test_ctrl_c_ends_a_command_with_130(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "_actor", interrupt)
    result = cli.run("hardware", "list")
    assert (result.exit_code, result.output) == (130, "")
