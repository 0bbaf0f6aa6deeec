"""Where the server is and how to reach it: the options that every command takes, before or after its name.

The root group owns the options with their environment variables and defaults. Each command repeats them, hidden and
without defaults, so that `tinkwell hardware list --server X` means the same as `tinkwell --server X hardware list`;
the option nearer to the end of the line wins.
"""

from dataclasses import dataclass
from typing import Any

import rich_click as click

from tinkwell.cli.shell import duration

DEFAULT_SERVER = "localhost:50051"
DEFAULT_TIMEOUT_SECONDS = 30.0


@dataclass(slots=True)
class Connection:
    """The values of the options, which are filled in while the command line is parsed."""

    server: str = DEFAULT_SERVER
    token: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_server_name: str | None = None
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    debug: bool = False

    @property
    def wants_tls(self) -> bool:
        """Whether the connection is to be encrypted; any of the TLS options asks for it."""
        return self.tls or any((self.tls_ca, self.tls_cert, self.tls_key, self.tls_server_name))


def current() -> Connection:
    """Return the connection options of the running command."""
    context = click.get_current_context()
    assert context is not None  # without a context, click raises an error
    return context.ensure_object(Connection)


def options(*, are_hidden: bool = False) -> list[click.Option]:
    """Build the options: shown with environment variables and defaults, or hidden and without."""

    def build(*names: str, default: object = None, **settings: Any) -> click.Option:
        if not are_hidden:
            settings["envvar"] = f"TINKWELL_{names[0][2:].replace('-', '_').upper()}"
            settings |= {"default": default, "show_default": isinstance(default, str)}
        elif settings.get("is_flag"):
            settings["default"] = None
        return click.RichOption(names, expose_value=False, hidden=are_hidden, callback=_keep, **settings)

    return [
        build(
            "--server",
            "-s",
            default=DEFAULT_SERVER,
            metavar="HOST:PORT",
            help="Address of the server, or IP addresses of several servers with commas between them.",
        ),
        build("--token", metavar="TOKEN", help="Token that proves who you are."),
        build("--tls", is_flag=True, help="Encrypt; the other TLS options imply it."),
        build("--tls-ca", type=click.Path(), help="Trust the certificate authorities in this file."),
        build("--tls-cert", type=click.Path(), help="Certificate that proves who this client is."),
        build("--tls-key", type=click.Path(), help="Private key of that certificate."),
        build("--tls-server-name", metavar="NAME", help="Name in the server's certificate, where it is not the host."),
        build(
            "--timeout",
            type=duration.Duration(),
            default="30s",
            help="Longest time to wait for an answer of the server.",
        ),
        build("--debug", is_flag=True, help="Show the traceback of an error, and the log of the client."),
    ]


def _keep(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value is not None and param.name is not None:
        setattr(ctx.ensure_object(Connection), param.name, value)
    if param.name == "token" and isinstance(value, str):
        from tinkwell.core.process_log import redaction  # it costs start-up time, see main

        redaction.register(value)
