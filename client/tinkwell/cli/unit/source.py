"""Reads the charm that a command line names, and explains why a charm is refused."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.unit import option
from tinkwell.core.charm import metadata

if TYPE_CHECKING:
    from tinkwell.charm import Charm

_DIGEST = "sha256:"


def charm_of(given: str, resources: Iterable[str] = ()) -> "bytes | str | Path":
    """Return a charm as the client takes it; `resources` are written NAME=FILE. Raises `Failure` if it is no charm."""
    files = option.files_of(resources)
    if given.startswith(_DIGEST) or is_program(given):
        if files:
            raise click.UsageError("--resource goes with the folder or the package of a charm of Juju")
        return given if given.startswith(_DIGEST) else packed(given)
    if not Path(given).exists():
        known = "name a folder, a package, a program (web.py:Web), or the digest of one that the server has (sha256:…)"
        raise failure.Failure(f"{given}: there is no such charm; {known}")
    _refuse_program_folder(Path(given))
    return _with_resources(Path(given), files) if files else Path(given)


def _refuse_program_folder(given: Path) -> None:
    """Raise `Failure`, which says how to name the program, if only the folder of a program was named."""
    if not given.is_dir() or any((given / name).exists() for name in metadata.FILES):
        return
    programs = sorted(given.glob("*.py"))
    if programs:
        named = " or ".join(map(str, programs[:3]))
        raise failure.Failure(f"{given}: has no charm.yaml; a charm that is a program is named by its file: {named}")


def is_program(given: str) -> bool:
    """Tell whether a text names a charm that is written in Python, such as web.py or web.py:Web."""
    return given.partition(":")[0].endswith(".py")


def _with_resources(path: Path, files: Mapping[str, Path]) -> bytes:
    from tinkwell.client.unit import package  # ruamel.yaml costs start-up time, see main
    from tinkwell.core import errors

    try:
        return package.read(path, files)
    except errors.CharmRefused as error:
        raise failure.Failure(*(f"{path}: {each.field}: {each.description}" for each in error.violations)) from error


def loaded(given: str) -> "type[Charm]":
    """Import a charm that is written in Python. Raises `Failure` if that fails."""
    from tinkwell.charm import CharmError  # it costs start-up time, see main
    from tinkwell.charm.agent import program

    try:
        return program.load(given)
    except CharmError as error:
        raise failure.Failure(str(error)) from error


def packed(given: str) -> bytes:
    """Return the package of a charm that is written in Python. Raises `Failure` if it is no charm."""
    from tinkwell.charm import CharmError, description  # it costs start-up time, see main

    try:
        return description.pack(loaded(given))
    except CharmError as error:
        raise failure.Failure(str(error)) from error


@contextlib.contextmanager
def refused(given: str) -> Iterator[None]:
    """Turn an error about a charm into a `Failure` that names the charm before each mistake."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        yield
    except errors.CharmRefused as error:
        raise failure.Failure(*(f"{given}: {each.field}: {each.description}" for each in error.violations)) from error
