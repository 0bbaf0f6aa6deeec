"""The `tinkwell-juju` command: finds the wanted command, and writes errors as Juju does.

Tests start it very often, so modules that are slow to import are imported inside the functions that need them, here and
in the other modules of this package: gRPC and the client, ruamel.yaml, the commands themselves.
"""

import sys
from typing import Any, NoReturn

import click

from tinkwell.juju import table
from tinkwell.juju.shell import failure, option

_INTERRUPTED = 130


class Root(click.Group):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all supported commands."""
        return sorted(table.COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command. Raises `Usage` for an unknown one, and for an unsupported one with the reason."""
        if entry := table.find(cmd_name):
            return entry.load()
        if reason := table.REFUSED.get(cmd_name):
            raise failure.Usage(f"juju {cmd_name} is not supported: {reason}")
        raise failure.Usage(f'juju: "{cmd_name}" is not a juju command. See "juju --help".')

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command, and end the process with its exit code."""
        sys.exit(self._run(*args, **kwargs))

    def _run(self, *args: Any, **kwargs: Any) -> int:
        chosen = option.Chosen()
        try:
            found = super().main(*args, **{**kwargs, "standalone_mode": False, "obj": chosen})
        except click.Abort:
            return _INTERRUPTED
        except Exception as error:
            if chosen.debug and not isinstance(error, click.ClickException):
                raise
            return failure.show(error)
        return found if isinstance(found, int) else 0


def _helped() -> None:
    """Show the commands if none is named, as Juju does."""
    context = click.get_current_context()
    assert context is not None  # it would have raised
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


main = Root(
    name="juju",
    params=option.shared(),
    # Without this, click would treat a missing command as an error.
    no_args_is_help=False,
    invoke_without_command=True,
    callback=_helped,
    help="Drive Tinkwell as tests of charms drive Juju: a model is a namespace, the controller is the server.",
    epilog=(
        "The environment says where the server is, and how to reach it: TINKWELL_SERVER, TINKWELL_TOKEN, "
        "TINKWELL_TLS_CA and so on. Exit codes: 0 done, 1 failed, 2 the command line is wrong."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)
