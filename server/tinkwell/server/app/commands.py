"""This component's commands: `tinkwell dev`, `tinkwell server`, `tinkwell db`, `tinkwell secret`."""

import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import asyncpg
import rich_click as click
from alembic.util import CommandError
from sqlalchemy import exc

from tinkwell.core import errors
from tinkwell.core.event import retention
from tinkwell.core.process_log import redaction, setup
from tinkwell.server import settings
from tinkwell.server.app import main, process
from tinkwell.server.app.dev import binaries, place, postgres, stack
from tinkwell.server.app.workers import supervisor
from tinkwell.server.database import engine, readiness, schema
from tinkwell.server.secret import keys
from tinkwell.server.secret.service.rekey import Outcome
from tinkwell.server.settings import Settings

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])

# Errors around a process whose text tells the user what to do.
_EXPECTED = (
    binaries.NoBinaries,
    errors.TinkwellError,
    keys.InvalidKeys,
    place.NotAvailable,
    postgres.NotRunning,
    readiness.NotUsable,
    schema.Refused,
    retention.StepFailed,
    settings.InvalidSettings,
    stack.Refused,
    supervisor.WorkersFailed,
)
# Errors of a database that refuses or does not answer, and of Alembic for an unknown revision.
_REFUSALS = (exc.DBAPIError, asyncpg.PostgresError, asyncpg.InterfaceError, CommandError, OSError)


def _configured(command: F) -> F:
    """Add the options for the configuration file and the database."""
    command = click.option("--database-url", metavar="URL", help="Database to use.")(command)
    return click.option("--config", type=click.Path(path_type=Path), help="File with settings (TOML).")(command)


@click.command()
@_configured
@click.option("--host", metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="gRPC port; 0 takes a free one.")
@click.option("--http-port", type=click.IntRange(0, 65_535), help="Port of health and metrics; 0 takes a free one.")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Processes that share the gRPC port; each is a whole server."
)
@click.option("--log-format", type=click.Choice(["text", "json"]), help="How the log is written.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="What the log tells.")
def server(config: Path | None, **options: object) -> None:
    """Run a server.

    Its settings come from these options, from variables such as TINKWELL_DATABASE_URL, and from tinkwell.toml.

    With several workers, each connection of a client is served by one of them. A worker that dies is started again.
    Health and metrics of all of them are on the one HTTP port. Connections to the database are counted per worker.
    """
    chosen = _load(config, **options)
    setup.set_up(chosen.log_level, log_format=chosen.log_format)
    serve = supervisor.run if chosen.workers > 1 else main.serve
    _run(
        serve(chosen, ready=lambda addresses: _announce(gRPC=addresses.grpc, HTTP=f"http://{addresses.http}")),
        url_from=settings.source("database_url", config, **options),
    )


@click.command()
@click.option(
    "--state-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".tinkwell"),
    show_default=True,
    help="Where the database and the provisioner keep their files.",
)
@click.option(
    "--ephemeral", is_flag=True, help="Keep everything in a temporary directory, which is deleted at the end."
)
@click.option("--port", type=click.IntRange(0, 65_535), help="gRPC port; 0 takes a free one.  [default: 50051]")
@click.option("--http-port", type=click.IntRange(0, 65_535), help="HTTP port; 0 takes a free one.  [default: 8080]")
@click.option(
    "--runtime",
    type=click.Choice(["auto", "docker", "process"]),
    help="What runs actions; auto takes Docker where an engine answers.  "
    "[default: process with --process-images, else auto]",
)
@click.option(
    "--process-images",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of images for the process runtime; each folder in it is an image.",
)
@click.option(
    "--pg-bin",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar=binaries.ENVIRONMENT,
    help="Folder with the programs of the PostgreSQL to use in place of the embedded one.",
)
def dev(
    *,
    state_dir: Path,
    ephemeral: bool,
    runtime: str | None,
    process_images: Path | None,
    pg_bin: Path | None,
    **options: Any,
) -> None:
    """Run everything on this machine: a PostgreSQL of its own, a server, and a provisioner.

    Once all is ready, it prints the addresses. Ctrl-C stops all of it; stored data is there again at the next start.
    """
    setup.set_up("info")
    chosen = stack.Options(
        state_dir=None if ephemeral else state_dir,
        # An engine that happens to run would make the provisioner ignore the folder.
        runtime=runtime or ("auto" if process_images is None else "process"),
        images=process_images,
        bin_dir=pg_bin,
        **options,
    )
    _run(
        stack.run(
            chosen,
            ready=lambda addresses: _announce(
                gRPC=addresses.grpc, HTTP=f"http://{addresses.http}", Database=addresses.database_url
            ),
        )
    )


@click.group()
def db() -> None:
    """Upgrade the database's schema, and delete old events."""


@db.command()
@_configured
@click.option(
    "--server-role", metavar="ROLE", help="Role of servers that do not own the schema, which gets the rights they need."
)
def upgrade(config: Path | None, database_url: str | None, server_role: str | None) -> None:
    """Upgrade the schema to the newest revision, with the functions of this release.

    A schema that a later release has upgraded stays as it is, if this release may run on it.
    """
    upgraded = schema.upgrade(_database_url(config, database_url), server_role=server_role)
    state = _run(upgraded, url_from=_source(config, database_url)) or schema.State()
    if schema.is_newer(state, schema.this_release()):
        click.echo("Nothing was done: a later release has upgraded the schema.")
    click.echo(_told(state))


@db.command()
@_configured
def current(config: Path | None, database_url: str | None) -> None:
    """Show the revision of the schema, the newest revision, and the functions that the schema has."""
    reading = schema.current(_database_url(config, database_url))
    state = _run(reading, url_from=_source(config, database_url)) or schema.State()
    click.echo(f"{_told(state)} The newest revision is {schema.this_release().head}.")
    ours = schema.this_release().files
    for name in sorted(state.files.keys() | ours.keys() if state.files else ()):
        note = "" if state.files.get(name) == ours.get(name) else "  (this release has another one)"
        click.echo(f"{state.files.get(name, 'missing'):<64}  {name}{note}")


@db.command()
@_configured
@click.argument("revision")
@click.confirmation_option("--yes", prompt="This deletes all data that the older schema has no place for. Go on?")
def downgrade(config: Path | None, database_url: str | None, revision: str) -> None:
    """Downgrade the schema to REVISION; "base" removes everything."""
    _run(schema.downgrade(_database_url(config, database_url), revision), url_from=_source(config, database_url))
    click.echo(f"The schema is at {revision}.")


@db.command()
@_configured
def maintain(config: Path | None, database_url: str | None) -> None:
    """Delete events that are older than the settings say, and create partitions for new events.

    Servers that own the schema do this by themselves. Otherwise let the owner run this command every few minutes.
    """
    chosen = _load(config, database_url=database_url)
    setup.set_up(chosen.log_level, log_format=chosen.log_format)
    if _run(main.maintain(chosen), url_from=_source(config, database_url)) == "watched":
        raise click.ClickException(
            "nothing was done: another process is doing it, or this role does not own the event log"
        )


@click.group()
def secret() -> None:
    """Create keys that seal (encrypt) secrets, seal secrets with another key, and delete those of a lost key."""


@secret.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--append", is_flag=True, help="Add the key to an existing key file, behind its other keys.")
def keygen(file: Path, append: bool) -> None:
    """Write a new key to FILE, which only this account can read.

    Servers use the keys of the file that TINKWELL_SECRET_KEYS names to seal (encrypt) secrets. Keep a copy of it in a
    safe place: secrets that a lost key has sealed are lost.
    """
    try:
        key = keys.create(file, append=append)
    except keys.InvalidKeys as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{file} has the new key {key.id.hex()}.")


@secret.command()
@_configured
def rekey(config: Path | None, database_url: str | None) -> None:
    """Seal with the first key of the key file all secrets that other keys have sealed.

    Servers may run meanwhile, if all of them have the first key. The command may be stopped and run again.
    """
    chosen = _load(config, database_url=database_url)
    setup.set_up(chosen.log_level, log_format=chosen.log_format)
    outcome = _run(main.rekey(chosen), url_from=_source(config, database_url))
    if outcome is None:
        raise click.ClickException("it was stopped before the end; run it again to continue")
    click.echo(f"{outcome.sealed:,} values were sealed anew by the key {outcome.key}.")
    if problems := list(_problems(outcome)):
        raise click.ClickException("\n".join(problems))


@secret.command()
@_configured
@click.argument("key")
@click.option("--yes", "is_wanted", is_flag=True, help="Delete them; without this option, nothing is changed.")
def forget(config: Path | None, database_url: str | None, key: str, is_wanted: bool) -> None:
    """Forget a lost KEY: delete the secrets that it has sealed, and say which releases lose them.

    KEY is the key's id, as messages name it. From then on, null is in the place of these secrets, so that the releases
    can be uninstalled, or applied with their values. Deleted secrets cannot be brought back.
    """
    id_ = _key_id(key)
    chosen = _load(config, database_url=database_url)
    setup.set_up(chosen.log_level, log_format=chosen.log_format)
    losses = _run(main.forget(chosen, id_, is_wanted=is_wanted), url_from=_source(config, database_url))
    if losses is None:
        raise click.ClickException("it was stopped before the end; run it again")
    for loss in losses:
        click.echo(f"{loss.title}: {loss.part} loses {_values(loss.values)} of {', '.join(loss.documents)}")
    count = sum(loss.values for loss in losses)
    if is_wanted:
        click.echo(f"{_values(count)} of the key {id_.hex()} deleted.")
    else:
        click.echo(f"{_values(count)} of the key {id_.hex()} would be deleted. Nothing was changed; --yes does it.")


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count:,} values"


def _key_id(text: str) -> bytes:
    try:
        id_ = bytes.fromhex(text)
    except ValueError:
        id_ = b""
    if len(id_) != keys.ID_BYTES:
        what = f"is {text!r}; give the id of a key, {2 * keys.ID_BYTES} hexadecimal digits, as messages name it"
        raise click.UsageError(f"KEY {what}")
    return id_


def _problems(outcome: Outcome) -> Iterator[str]:
    for key, count in outcome.unknown.items():
        yield f"{count:,} values are sealed by the key {key}, which the key file lacks: put it back, and run this again"
    for key, count in outcome.left.items():
        yield f"{count:,} values are still sealed by the key {key}: keep it, and find out which servers seal with it"
    if outcome.broken:
        yield f"{outcome.broken:,} of these do not open: they were changed in the database, or moved there"


def _told(state: schema.State) -> str:
    place = state.revision or "nothing"
    if state.release is None:
        return f"The schema is at {place}."
    return f"The schema is at {place}, by release {state.release}; {state.oldest_release} and later may run on it."


def _database_url(config: Path | None, database_url: str | None) -> str:
    chosen = _load(config, database_url=database_url)
    setup.set_up(chosen.log_level, log_format=chosen.log_format)
    return chosen.database_url.get_secret_value()


def _source(config: Path | None, database_url: str | None) -> str:
    return settings.source("database_url", config, database_url=database_url)


def _load(config: Path | None, **options: object) -> Settings:
    try:
        return settings.load(config, **options)
    except settings.InvalidSettings as error:
        raise click.ClickException(str(error)) from error


def _run(work: Coroutine[Any, Any, T], *, url_from: str = "") -> T | None:
    """Run the work. An error that may be about the database's URL says where that URL comes from."""
    try:
        return process.run(work)
    except _EXPECTED as error:
        said = str(error) or type(error).__name__
        is_about_url = url_from and said.startswith(readiness.UNREACHABLE)
        raise click.ClickException(redaction.redact(f"{url_from}: {said}" if is_about_url else said)) from error
    except _REFUSALS as error:
        said = engine.reason(error)
        is_about_url = url_from and engine.is_about_connecting(error)
        raise click.ClickException(redaction.redact(f"{url_from}: {said}" if is_about_url else said)) from error


def _announce(**values: str) -> None:
    """Print each name and value on a line of its own. Scripts wait for the last one."""
    width = max(len(name) for name in values)
    for name, value in values.items():
        click.echo(f"{name:<{width}}  {value}")
    sys.stdout.flush()
