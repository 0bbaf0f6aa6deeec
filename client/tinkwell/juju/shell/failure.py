"""Failures of commands: `ERROR` and a sentence on standard error, and an exit code.

0  done
1  failed
2  the command line is wrong, or asks for something that is not supported
"""

import click

from tinkwell.core import errors as core_errors
from tinkwell.core.process_log import redaction, terminal

FAILED = 1
WRONG = 2


class Failure(click.ClickException):
    """The command failed; each sentence is shown in a line of its own."""

    exit_code = FAILED

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))


class Usage(Failure):
    """The command line is wrong, or asks for something that is not supported."""

    exit_code = WRONG


def show(error: Exception) -> int:
    """Write an error to standard error, without secrets, and return the exit code."""
    for number, line in enumerate(_text(error).splitlines() or [""]):
        shown = terminal.escaped(redaction.redact(line))
        click.echo(shown if number else f"ERROR {shown}", err=True)
    return error.exit_code if isinstance(error, click.ClickException) else FAILED


def _text(error: Exception) -> str:
    match error:
        case click.NoSuchOption():
            return f"option provided but not defined: {error.option_name}"
        case click.UsageError():
            text = error.format_message().rstrip(".")
            return text[:1].lower() + text[1:]
        case click.ClickException():
            return error.message
        case _:
            return describe(error)


def describe(error: Exception) -> str:
    """Put an error into one sentence, in Juju's words if Juju has the same error."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    match error:
        case errors.NotFound() if error.resource_type and error.resource_id:
            # The name of a secret comes with its namespace, which Juju leaves out, because a command has one model.
            name = error.resource_id.partition(" of namespace ")[0]
            return f'{_kind(error.resource_type)} "{name}" not found'
        case errors.Unauthenticated():
            return f"{error.message}; set TINKWELL_TOKEN to a token of the server"
        case errors.Unavailable() if not error.reason:
            return f'{error.message}; start one with "tinkwell dev", or name another with TINKWELL_SERVER'
        case errors.Internal() if error.reference:
            return f"{error.message} (the server's log has it under {error.reference})"
        case errors.Error():
            return error.message
        case core_errors.TinkwellError():
            return str(error)
        case OSError():
            reason = error.strerror or str(error)
            return f"{error.filename}: {reason}" if error.filename else reason
        case _:
            return f"{type(error).__name__}: {error} (a mistake in tinkwell-juju; --debug shows where)"


def _kind(resource_type: str) -> str:
    kind = resource_type.lower().replace("_", " ")
    return {"namespace": "model", "task": "task", "hardware": "machine"}.get(kind, kind)
