"""Reads the charms, machines, storage and resources that commands for applications take, as Juju writes them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tinkwell.juju.shell import failure, machine
from tinkwell.juju.shell.context import Context

DIGEST = "sha256:"
_SIZE = re.compile(r"[0-9]+(?:\.[0-9]+)?[MGTPEZY](?:i?B)?", re.ASCII)
# A storage is a folder of the machine. Juju's pool of this name has such storage.
_POOL = "rootfs"

to = click.option("--to", "places", multiple=True, metavar="MACHINE[,MACHINE...]", help="Machines, for one unit each.")
num_units = click.option("-n", "--num-units", "units", type=click.IntRange(min=0), default=1, help="How many units.")
config = click.option("--config", "settings", multiple=True, metavar="NAME=VALUE|FILE", help="Options of the charm.")
resources = click.option("--resource", "resources", multiple=True, metavar="NAME=FILE", help="Files of resources.")
storage = click.option("--storage", "storages", multiple=True, metavar="NAME=[rootfs,][SIZE,]COUNT", help="Storage.")
force = click.option("--force", is_flag=True, help="End what does not end by itself.")
no_wait = click.option("--no-wait", is_flag=True, help="With --force: end it at once.")
no_prompt = click.option("--no-prompt", is_flag=True, help="Do not ask.")
destroy_storage = click.option("--destroy-storage", is_flag=True, help="Destroy what is stored, as is done anyway.")


@dataclass(frozen=True, slots=True)
class LocalCharm:
    """A charm as the client takes it, and its name, which is empty for a digest, because only the server knows it."""

    given: bytes | str
    name: str = ""


def charm(given: str, resources: Iterable[str]) -> LocalCharm:
    """Read a charm: a folder, a package, or the digest of an uploaded charm. Raises `Failure` if there is none."""
    files = _files(resources)
    if given.startswith(DIGEST):
        if files:
            raise failure.Usage("--resource goes with the folder or the package of a charm")
        return LocalCharm(given)
    path = Path(given)
    if not given.startswith((".", "/")):
        there = f'; run "juju deploy ./{given}" for the local one' if path.exists() else ""
        raise failure.Failure(
            f'charm "{given}" is one of Charmhub, which Tinkwell does not ask: give the path of a folder or of a '
            f"package, such as ./{given}.charm{there}"
        )
    if not path.exists():
        raise failure.Failure(f"no charm was found at {given}")
    return _packed(path, files)


def _packed(path: Path, files: dict[str, Path]) -> LocalCharm:
    import io  # these cost start-up time, see main

    from tinkwell.client.unit import package as packing
    from tinkwell.core import errors
    from tinkwell.core.charm import package

    try:
        data = packing.read(path, files)
        with io.BytesIO(data) as file:
            return LocalCharm(data, package.open_package(file).manifest()[0].name)
    except errors.CharmRefused as error:
        raise failure.Failure(*(f"{path}: {each.field}: {each.description}" for each in error.violations)) from error


async def place(ctx: Context, places: Iterable[str]) -> dict[str, Any]:
    """Return the client's arguments for `--to`; without it, units are on no machine, and any agent serves them."""
    given = [each for part in places for each in part.split(",") if each]
    if not given or given == [machine.ANYWHERE]:
        return {"anywhere": True}
    if machine.ANYWHERE in given:
        raise failure.Usage("--to anywhere is for all units at once; give it alone")
    return {"machines": await machine.ids(ctx, given)}


def counts(storages: Iterable[str]) -> dict[str, int]:
    """Return the number of instances of each storage. A size is ignored, and there is only one pool."""
    found = {}
    for each in storages:
        name, _, directive = each.partition("=")
        if not name:
            raise failure.Usage(f'--storage: expected "name=directive", got "{each}"')
        found[name] = 1
        for part in filter(None, directive.split(",")):
            if part.isdecimal():
                found[name] = int(part)
            elif part != _POOL and not _SIZE.fullmatch(part):
                raise failure.Failure(f"storage {name}: there is no pool {part}; the only pool is {_POOL}")
    return found


def _files(resources: Iterable[str]) -> dict[str, Path]:
    found = {}
    for each in resources:
        name, _, file = each.partition("=")
        if not name or not file:
            raise failure.Usage(f'--resource: expected "name=file", got "{each}"')
        found[name] = Path(file)
    return found
