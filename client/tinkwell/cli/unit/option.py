"""The options that commands for applications and units share, and the functions that read their values."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.document import files
from tinkwell.cli.shell import duration
from tinkwell.core import errors
from tinkwell.core.unit import limit, name

namespace = click.option(
    "-n", "--namespace", default="default", show_default=True, metavar="NAME", help="Namespace of the application."
)
machines = click.option(
    "--to",
    "places",
    multiple=True,
    metavar="HARDWARE|anywhere",
    help="A machine for one unit, by its hostname, an address or its id; anywhere for no machine. Repeatable. "
    "[default: where the fewest units are]",
)
storage = click.option(
    "--storage",
    "storages",
    multiple=True,
    metavar="NAME=COUNT",
    help="Number of instances of a storage for each unit. Repeatable. [default: the charm's minimum]",
)
resources = click.option(
    "--resource",
    "resources",
    multiple=True,
    metavar="NAME=FILE",
    help="File for a resource that a Juju charm declares. Repeatable.",
)
force = click.option("--force", is_flag=True, help="Remove it without its teardown; a running event is killed.")
grace = click.option(
    "--grace", type=duration.Duration(), default=0.0, help="Time for the teardown before --force ends it."
)
keep_storage = click.option("--keep-storage", is_flag=True, help="Keep its storage on the machine.")

ANYWHERE = "anywhere"


class UnitName(click.ParamType[str]):
    """The name of a unit, such as web/0."""

    name = "unit"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        try:
            return name.parse_unit("", str(value))
        except errors.InvalidField as error:
            self.fail(error.violations[0].description, param, ctx)


class ApplicationName(click.ParamType[str]):
    """The name of an application, such as web."""

    name = "application"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        try:
            return name.parse_application("", str(value))
        except errors.InvalidField as error:
            self.fail(error.violations[0].description, param, ctx)


unit = click.argument("unit_name", type=UnitName(), metavar="UNIT")
application = click.argument("name", type=ApplicationName(), metavar="APPLICATION")


def check_grace(seconds: float, *, force: bool) -> None:
    """Refuse `--grace` without `--force`."""
    if seconds and not force:
        raise click.UsageError("--grace goes with --force")


def counts(storages: Iterable[str]) -> dict[str, int]:
    """Return the numbers that `--storage` gives, by storage."""
    found = {}
    for each in storages:
        key, equals, count = each.partition("=")
        if not key or (equals and not count.isdecimal()):
            raise click.UsageError(f"--storage: {each!r} is not NAME=COUNT, such as data=1")
        found[key] = int(count) if equals else 1
    return found


def files_of(resources: Iterable[str]) -> dict[str, Path]:
    """Return the files that `--resource` gives, by resource."""
    found = {}
    for each in resources:
        key, _, file = each.partition("=")
        if not key or not file:
            raise click.UsageError(f"--resource: {each!r} is not NAME=FILE, such as site=site.zip")
        found[key] = Path(file)
    return found


def settings(assignments: Iterable[str], file: str | None) -> dict[str, Any]:
    """Return the options of an application: those of a YAML file, overridden by those that are written NAME=VALUE."""
    found = of_file(file, what="options", max_bytes=limit.CONFIG_BYTES) if file is not None else {}
    for each in assignments:
        key, equals, value = each.partition("=")
        if not key or not equals:
            raise click.UsageError(f"{each!r} is not NAME=VALUE, such as workers=4")
        found[key] = value
    return found


def of_file(file: str, *, what: str, max_bytes: int) -> dict[str, Any]:
    """Return the one object in a YAML file; `what` names its keys in errors. Raises `Failure` with the place."""
    from tinkwell.core.value.yaml import node as yaml_node  # ruamel.yaml costs start-up time, see main
    from tinkwell.core.value.yaml import position

    try:
        text = files.read(file, max_bytes=max_bytes).text
        documents = [yaml_node.value_of(node) for node in yaml_node.documents(text)]
    except position.Malformed as error:
        place_ = f"line {error.position.line}, column {error.position.column}"
        raise failure.Failure(f"{file}: {place_}: {error.description}") from error
    match documents:
        case [dict() as found]:
            return dict(found)
        case _:
            raise failure.Failure(f"{file}: must hold one object, whose keys are {what}")
