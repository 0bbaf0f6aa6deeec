"""The commands `tinkwell provisioner` and `tinkwell agent`.

The command line imports this module to show its help, so what costs time is imported inside the functions.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rich_click as click
from click.core import ParameterSource

from tinkwell.provisioner.app import docker_option, release_option
from tinkwell.provisioner.app.docker_option import setting as _setting

DEFAULT_SERVER = "localhost:50051"
ALL = "all"

F = TypeVar("F", bound=Callable[..., object])


def _worker_ids(ctx: click.Context, param: click.Parameter, value: Any) -> tuple[str, ...]:
    """Return ids of machines as the server writes them; the word for all of them stays as it is."""
    import uuid

    ids = (value,) if isinstance(value, str) else tuple(value)
    try:
        return tuple(ALL if param.multiple and text == ALL else str(uuid.UUID(text)) for text in ids)
    except ValueError:
        message = f"{', '.join(ids)} is not the id of a machine; tinkwell hardware list shows them"
        raise click.BadParameter(message, ctx, param) from None


def _account(ctx: click.Context, param: click.Parameter, value: str | None) -> Any:
    """Return the account that processes run as, None for this one."""
    if not value:
        return None
    from tinkwell.provisioner.runtime.process import account

    try:
        return account.find(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


_OPTIONS = (
    _setting("--server", default=DEFAULT_SERVER, metavar="HOST:PORT", show_default=True, help="Address of the server."),
    _setting("--token", metavar="TOKEN", help="Token that proves who this is."),
    _setting("--tls", is_flag=True, help="Encrypt; the other TLS options imply it."),
    _setting("--tls-ca", type=click.Path(), help="Trust the certificate authorities in this file."),
    _setting("--tls-cert", type=click.Path(), help="Certificate that proves who this client is."),
    _setting("--tls-key", type=click.Path(), help="Private key of that certificate."),
    _setting("--tls-server-name", metavar="NAME", help="Name in the server's certificate, where it is not the host."),
    _setting(
        "--runtime",
        type=click.Choice(["auto", "docker", "process"]),
        default="auto",
        show_default=True,
        help="Where actions run: in containers, or as processes that nothing isolates. "
        "auto: in containers if a Docker Engine answers.",
    ),
    _setting(
        "--state-dir",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="TINKWELL_PROVISIONER_STATE_DIR",
        help="Where files of workflows and traces of runs are kept; those on one machine may share it.  "
        "[default: tinkwell/provisioner under $XDG_STATE_HOME or ~/.local/state]",
    ),
    _setting(
        "--concurrency",
        type=click.IntRange(1, 1000),
        default=8,
        show_default=True,
        help="How many actions may run at once.",
    ),
    _setting(
        "--process-images",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="For processes: the folder whose folder NAME holds the executable run of the image NAME.",
    ),
    _setting(
        "--process-user",
        callback=_account,
        metavar="NAME",
        help="For processes and units, as root: the account that they run as.  [default: this one]",
    ),
    *docker_option.OPTIONS,
    _setting(
        "--resync-seconds",
        type=click.FloatRange(0.1, 86_400),
        default=30.0,
        show_default=True,
        help="How often all workflows are looked at, though no event says so.",
    ),
    _setting(
        "--units",
        is_flag=True,
        help="Run units of charms made of scripts, and of charms of Juju: those on the machines whose actions run "
        "here, and those on none. Nothing isolates them.",
    ),
    _setting(
        "--cold",
        is_flag=True,
        help="Start Python anew for each event of a charm of Juju, instead of forking a process that has ops loaded.",
    ),
    _setting("--ephemeral", is_flag=True, help="Kill what runs when it stops, and leave nothing to adopt."),
    _setting(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="What is written to standard error.",
    ),
)


def _with(*options: Callable[[F], F]) -> Callable[[F], F]:
    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


@click.command()
@_setting(
    "--agent-for",
    callback=_worker_ids,
    multiple=True,
    metavar="ID|all",
    help="Run the actions of this machine here, or of all; may be repeated. Without it, none are run.",
)
@_setting(
    "--automation",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run the rules of this file, too, as tinkwell automation run does.",
)
@_setting(
    "--default-template",
    metavar="NAME",
    help="Give each machine that announces itself and has no workflow one from this template, by its id or name.",
)
@_with(*release_option.OPTIONS, *_OPTIONS)
@click.pass_context
def provisioner(ctx: click.RichContext, /, agent_for: tuple[str, ...], **options: Any) -> None:
    """Run a provisioner, which brings workflows and releases to completion.

    It stops at SIGTERM; actions that run go on, and the next provisioner with the same state directory adopts them. Any
    number of provisioners and agents may serve a machine.
    """
    _run(ctx, agent_for, options)


@click.command()
@_setting(
    "--id",
    "worker_ids",
    envvar="TINKWELL_AGENT_ID",
    callback=_worker_ids,
    required=True,
    metavar="ID",
    help="Id of the machine in the hardware inventory.",
)
@_with(*_OPTIONS)
@click.pass_context
def agent(ctx: click.RichContext, /, worker_ids: tuple[str, ...], **options: Any) -> None:
    """Run the actions that are meant for one machine.

    It stops at SIGTERM; an action that runs goes on, and the next agent with the same state directory adopts it.
    """
    _run(ctx, worker_ids, options)


def _run(ctx: click.Context, workers: tuple[str, ...], options: dict[str, Any]) -> None:
    from tinkwell.sandbox import secrecy

    # Actions of a former provisioner may run already, so this comes before all that takes its time.
    secrecy.hide()
    from tinkwell import client
    from tinkwell.core.process_log import redaction, setup
    from tinkwell.core.release.lifecycle_event.registry import WrongRegistry
    from tinkwell.core.workflow import decide
    from tinkwell.provisioner.app import main
    from tinkwell.provisioner.runtime import port
    from tinkwell.provisioner.state_dir import state_dir

    setup.set_up(options["log_level"])
    connection = {name: _connection_option(ctx, name) for name in options if name in ("server", "token")}
    redaction.register(connection["token"] or "", options["docker_registry_password"] or "")
    settings = main.Settings(
        serves=decide.ALL_WORKERS if ALL in workers else frozenset(workers),
        tls=_tls(ctx),
        runtime=main.RuntimeName(options["runtime"]),
        state_dir=options["state_dir"] or _default_state_dir(),
        concurrency=options["concurrency"],
        process_images=options["process_images"],
        process_user=options["process_user"],
        docker=docker_option.settings_of(options),
        resync_seconds=options["resync_seconds"],
        is_ephemeral=options["ephemeral"],
        releases=release_option.settings_of(options),
        serves_units=options["units"],
        is_cold=options["cold"],
        default_template=options.get("default_template"),
        beside=_automation(options),
        **connection,
    )
    try:
        main.start(settings)
    except (state_dir.StateError, port.RunError, WrongRegistry, client.errors.Error) as error:
        raise click.ClickException(redaction.redact(str(error))) from error


def _automation(options: dict[str, Any]) -> Any:
    """Return what runs the rules of the file that was named, None for no file."""
    if options.get("automation") is None:
        return None
    import functools

    from tinkwell.provisioner.automation import main
    from tinkwell.provisioner.automation.rule import file

    try:
        rules = file.load(options["automation"], os.environ)
    except file.RuleError as error:
        raise click.ClickException(str(error)) from error
    return functools.partial(main.run, rules=rules, state_dir=options["state_dir"] or _default_state_dir())


def _connection_option(ctx: click.Context, name: str) -> Any:
    """Return a connection option, from where it was said most plainly.

    The command that this is part of may take the same options before the name of its subcommand, and then keeps them in
    its context; what stands behind the name wins.
    """
    if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE and hasattr(ctx.obj, name):
        return getattr(ctx.obj, name)
    return ctx.params[name]


def _tls(ctx: click.Context) -> Any:
    """Return how to encrypt, None for not at all."""
    from tinkwell import client

    ca, cert, key, server_name = (
        _connection_option(ctx, f"tls_{name}") for name in ("ca", "cert", "key", "server_name")
    )
    if not (_connection_option(ctx, "tls") or ca or cert or key or server_name):
        return None
    return client.TLS(ca=ca, cert=cert, key=key, server_name=server_name)


def _default_state_dir() -> Path:
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "tinkwell" / "provisioner"
