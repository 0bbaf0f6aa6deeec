"""The command `tinkwell automation`.

The command line imports this module to show its help, so what costs time is imported inside the functions.
"""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click
from click.core import ParameterSource

from tinkwell.core.process_log import terminal

DEFAULT_SERVER = "localhost:50051"
# Options that may also stand before the name of the command that this one is part of.
_CONNECTION = ("server", "token", "tls", "tls_ca", "tls_cert", "tls_key", "tls_server_name")

F = TypeVar("F", bound=Callable[..., object])


def _setting(name: str, **attributes: Any) -> Callable[[F], F]:
    variable = f"TINKWELL_{name.removeprefix('--').replace('-', '_').upper()}"
    settings: dict[str, Any] = {"envvar": variable, "show_envvar": True} | attributes
    return click.option(name, **settings)


_FILE = click.Path(dir_okay=False, path_type=Path)


_RULES = _setting("--rules", envvar="TINKWELL_AUTOMATION", type=_FILE, required=True, help="The file of rules.")
_STATE_DIR = _setting(
    "--state-dir",
    envvar="TINKWELL_PROVISIONER_STATE_DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the delivery log is kept.  [default: tinkwell/provisioner under $XDG_STATE_HOME or ~/.local/state]",
)
_LOG_LEVEL = _setting(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is written to standard error.",
)


def _connected(command: F) -> F:
    """Give a command the options that say which server is meant."""
    for option in (
        _setting(
            "--tls-server-name", metavar="NAME", help="Name in the server's certificate, where it is not the host."
        ),
        _setting("--tls-key", type=click.Path(), help="Private key of that certificate."),
        _setting("--tls-cert", type=click.Path(), help="Certificate that proves who this client is."),
        _setting("--tls-ca", type=click.Path(), help="Trust the certificate authorities in this file."),
        _setting("--tls", is_flag=True, help="Encrypt; the other TLS options imply it."),
        _setting("--token", metavar="TOKEN", help="Token that proves who this is."),
        _setting(
            "--server", default=DEFAULT_SERVER, metavar="HOST:PORT", show_default=True, help="Address of the server."
        ),
    ):
        command = option(command)
    return command


@click.group()
def automation() -> None:
    """React to events by rules in a file, without writing code."""


@automation.command()
@_RULES
@_connected
@_STATE_DIR
@_LOG_LEVEL
@click.pass_context
def run(ctx: click.RichContext, /, rules: Path, state_dir: Path | None, log_level: str, **_: Any) -> None:
    """Run the rules of a file until SIGTERM.

    It ends by itself when another process begins to run rules of the same name.
    """
    import asyncio

    from tinkwell import client
    from tinkwell.core.process_log import redaction
    from tinkwell.core.process_log import setup as logging_setup
    from tinkwell.provisioner.automation import main

    logging_setup.set_up(log_level)
    settings = _settings(ctx, rules, state_dir)
    try:
        asyncio.run(main.run_until_signal(settings))
    except client.errors.Error as error:
        raise _failure(redaction.redact(str(error))) from error


@automation.command()
@click.argument("file", type=_FILE)
def check(file: Path) -> None:
    """Check a file of rules and print them; what environment variables hold is not looked at."""
    from tinkwell.provisioner.automation.rule import description

    for line in description.describe(_load(file, None)):
        _echo(line)


@automation.command()
@click.argument("name")
@click.option("--failed", is_flag=True, help="Only what has failed for good.")
@click.option("-o", "--output", type=click.Choice(["text", "jsonl"]), default="text", help="How it is printed.")
@_STATE_DIR
def deliveries(*, name: str, failed: bool, output: str, state_dir: Path | None) -> None:
    """Print what became of each effect of the rule set NAME, the last one at the end, as its delivery log tells."""
    for each in _deliveries(state_dir, name):
        if each.is_given_up or not failed:
            if output == "text":
                _echo(_line(each.fields))
            else:
                click.echo(terminal.in_json(json.dumps(each.fields, ensure_ascii=False)))


@automation.command()
@_RULES
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("--failed", is_flag=True, help="All that have failed for good.")
@_connected
@_STATE_DIR
@_LOG_LEVEL
@click.pass_context
def redeliver(
    ctx: click.RichContext,
    /,
    rules: Path,
    keys: tuple[str, ...],
    failed: bool,
    state_dir: Path | None,
    log_level: str,
    **_: Any,
) -> None:
    """Do effects again: once each, now, as the rules say now, and under the same keys, which `deliveries` prints.

    Ends with 1 where one does not succeed.
    """
    import asyncio

    from tinkwell import client
    from tinkwell.core.process_log import redaction
    from tinkwell.core.process_log import setup as logging_setup
    from tinkwell.provisioner.automation.effect import redelivery

    if bool(keys) is failed:
        raise click.UsageError("give the keys of effects, or --failed for all that have failed for good")
    logging_setup.set_up(log_level)
    settings = _settings(ctx, rules, state_dir)
    if failed:
        keys = tuple(each.key for each in _deliveries(state_dir, settings.rules.name) if each.is_given_up)
    try:
        are_done = asyncio.run(_redeliver(settings, keys))
    except (client.errors.Error, redelivery.RedeliveryError) as error:
        raise _failure(redaction.redact(str(error))) from error
    if not are_done:
        ctx.exit(1)


async def _redeliver(settings: Any, keys: tuple[str, ...]) -> bool:
    from tinkwell.core.process_log import redaction
    from tinkwell.provisioner.automation import main
    from tinkwell.provisioner.automation.effect import attempt

    are_done = True
    async with contextlib.aclosing(main.redeliver(settings, keys)) as tries:
        async for key, tried in tries:
            _echo(f"{key} {tried.outcome} {redaction.redact(tried.detail)}")
            are_done = are_done and tried.outcome is attempt.Outcome.DONE
    return are_done


def _deliveries(state_dir: Path | None, name: str) -> list[Any]:
    from tinkwell.provisioner.automation.effect import delivery_log

    directory = (state_dir or _default_state_dir()) / "automation"
    try:
        return list(delivery_log.latest(directory, name).values())
    except OSError as error:
        raise _failure(f"{directory} cannot be read: {error.strerror}") from error


def _echo(line: str) -> None:
    """Write a line, in which others may have put anything."""
    click.echo(terminal.escaped(line).replace("\n", "\\n"))


def _failure(sentence: str) -> click.ClickException:
    return click.ClickException(terminal.escaped(sentence))


def _line(fields: dict[str, Any]) -> str:
    words = [str(fields[name]) for name in ("time", "key", "target", "outcome", "detail")]
    state = "given up" if fields["given_up"] else ""
    again = f"again in {fields['again_in']} s" if "again_in" in fields else ""
    return "  ".join(filter(None, [*words, f"attempt {fields['attempt']}", state, again]))


def _settings(ctx: click.Context, rules: Path, state_dir: Path | None) -> Any:
    from tinkwell.core.process_log import redaction
    from tinkwell.provisioner.automation import main

    options = {name: _connection_option(ctx, name) for name in _CONNECTION}
    redaction.register(options["token"] or "")
    return main.Settings(
        server=options["server"],
        token=options["token"],
        tls=_tls(options),
        rules=_load(rules, os.environ),
        state_dir=state_dir or _default_state_dir(),
    )


def _load(path: Path, environment: Any) -> Any:
    from tinkwell.provisioner.automation.rule import file as rule_file

    try:
        return rule_file.load(path, environment)
    except rule_file.RuleError as error:
        raise _failure(str(error)) from error


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
