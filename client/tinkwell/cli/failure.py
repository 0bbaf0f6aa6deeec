"""Failures of commands: one sentence on standard error, and an exit code.

0    done; also a watch that was ended by Ctrl-C, by SIGTERM, or by a closed pipe
1    failed
2    the command line is wrong
130  interrupted by Ctrl-C; also while it waited for the outcome of a workflow
143  ended by SIGTERM while it waited for that
"""

from typing import IO

import rich_click as click

from tinkwell.core import errors as core_errors
from tinkwell.core.process_log import terminal

_START_ONE = 'start one with "tinkwell dev", or name another with --server or TINKWELL_SERVER'


class Failure(click.ClickException):
    """The command failed; each sentence is shown in a line of its own."""

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences

    def show(self, file: IO[str] | None = None) -> None:
        """Write the sentences to standard error, without secrets."""
        from tinkwell.core.process_log import redaction  # it costs start-up time, see main

        for sentence in self.sentences:
            click.echo(f"Error: {terminal.escaped(redaction.redact(sentence))}", file=file, err=file is None)


def describe(error: Exception) -> str:
    """Put an error into one sentence."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    match error:
        case errors.Unavailable() if not error.reason:
            return f"{error.message}; {_START_ONE}"
        case errors.NotFound() if error.resource_type and error.resource_id:
            return f"{error.resource_type.lower()} {error.resource_id} does not exist"
        case errors.Unauthenticated():
            return f"{error.message}; give a token with --token or TINKWELL_TOKEN"
        case errors.Compacted():
            return f"{error.message}; begin there with --from-revision, or with --since"
        case errors.Internal() if error.reference:
            return f"{error.message} (the server's log has it under {error.reference})"
        case errors.Error():
            return error.message
        case core_errors.TinkwellError():
            return str(error)
        case OSError():
            return _os_error(error)
        case _:
            return f"{type(error).__name__}: {error} (a mistake in tinkwell; --debug shows where)"


def _os_error(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
