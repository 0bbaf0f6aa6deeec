"""The command `tinkwell automation`.

The command line imports this module to show its help, so what costs time is imported inside the functions.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click
from click.core import ParameterSource

DEFAULT_SERVER = "localhost:50051"
# Options that may also stand before the name of the command that this one is part of.
_CONNECTION = ("server", "token", "tls", "tls_ca", "tls_cert", "tls_key", "tls_server_name")

F = TypeVar("F", bound=Callable[..., object])


def _setting(name: str, **attributes: Any) -> Callable[[F], F]:
    variable = f"TINKWELL_{name.removeprefix('--').replace('-', '_').upper()}"
    settings: dict[str, Any] = {"envvar": variable, "show_envvar": True} | attributes
    return click.option(name, **settings)


_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def automation() -> None:
    """React to events by rules in a file, without writing code."""


@automation.command()
@_setting("--rules", envvar="TINKWELL_AUTOMATION", type=_FILE, required=True, help="The file of rules.")
@_setting("--server", default=DEFAULT_SERVER, metavar="HOST:PORT", show_default=True, help="Address of the server.")
@_setting("--token", metavar="TOKEN", help="Token that proves who this is.")
@_setting("--tls", is_flag=True, help="Encrypt; the other TLS options imply it.")
@_setting("--tls-ca", type=click.Path(), help="Trust the certificate authorities in this file.")
@_setting("--tls-cert", type=click.Path(), help="Certificate that proves who this client is.")
@_setting("--tls-key", type=click.Path(), help="Private key of that certificate.")
@_setting("--tls-server-name", metavar="NAME", help="Name in the server's certificate, where it is not the host.")
@_setting(
    "--state-dir",
    envvar="TINKWELL_PROVISIONER_STATE_DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the delivery log is kept.  [default: tinkwell/provisioner under $XDG_STATE_HOME or ~/.local/state]",
)
@_setting(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is written to standard error.",
)
@click.pass_context
def run(ctx: click.RichContext, /, rules: Path, state_dir: Path | None, log_level: str, **_: Any) -> None:
    """Run the rules of a file until SIGTERM.

    It ends by itself when another process begins to run rules of the same name.
    """
    import asyncio

    from tinkwell import client
    from tinkwell.provisioner import log
    from tinkwell.provisioner.automation import main

    log.set_up(log_level)
    options = {name: _connection_option(ctx, name) for name in _CONNECTION}
    settings = main.Settings(
        server=options["server"],
        token=options["token"],
        tls=_tls(options),
        rules=_load(rules, os.environ),
        state_dir=state_dir or _default_state_dir(),
    )
    try:
        asyncio.run(main.run_until_signal(settings))
    except client.errors.Error as error:
        raise click.ClickException(str(error)) from error


@automation.command()
@click.argument("file", type=_FILE)
def check(file: Path) -> None:
    """Check a file of rules and print them; what environment variables hold is not looked at."""
    from tinkwell.provisioner.automation import description

    for line in description.describe(_load(file, None)):
        click.echo(line)


def _load(path: Path, environment: Any) -> Any:
    from tinkwell.provisioner.automation import rule_file

    try:
        return rule_file.load(path, environment)
    except rule_file.RuleError as error:
        raise click.ClickException(str(error)) from error


def _connection_option(ctx: click.Context, name: str) -> Any:
    """Return a connection option, from where it was said most plainly: behind the command's name, or before it."""
    if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE and hasattr(ctx.obj, name):
        return getattr(ctx.obj, name)
    return ctx.params[name]


def _tls(options: dict[str, Any]) -> Any:
    """Return how to encrypt, None for not at all."""
    from tinkwell import client

    ca, cert, key, server_name = (options[f"tls_{name}"] for name in ("ca", "cert", "key", "server_name"))
    if not (options["tls"] or ca or cert or key or server_name):
        return None
    return client.TLS(ca=ca, cert=cert, key=key, server_name=server_name)


def _default_state_dir() -> Path:
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "tinkwell" / "provisioner"
