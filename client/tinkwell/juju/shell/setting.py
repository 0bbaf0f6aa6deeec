"""Assignments on the command line: NAME=VALUE, NAME=@FILE, and files of them in YAML."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tinkwell.juju.shell import failure

_MAX_BYTES = 1024 * 1024


def pairs(given: Iterable[str], option: str = "") -> dict[str, str]:
    """Read each NAME=VALUE; for @FILE, the value is the text of the file. Raises `Usage`."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name or not equals:
            place = f"{option}: " if option else ""
            raise failure.Usage(f'{place}expected "key=value", got "{each}"')
        found[name] = _read(Path(value[1:])) if value.startswith("@") else value
    return found


def mixed(given: Iterable[str], application: str, option: str) -> dict[str, Any]:
    """Merge NAME=VALUE assignments and, for words without `=`, the options in a YAML file for an application."""
    found: dict[str, Any] = {}
    for each in given:
        found |= pairs([each], option) if "=" in each else of_file(each, application)
    return found


def of_file(file: str, application: str) -> dict[str, Any]:
    """Read the options of an application from a YAML file, under its name or alone; raises `Failure`."""
    found = mapping(file)
    own = found.get(application)
    return dict(own) if isinstance(own, dict) else found


def mapping(file: str) -> dict[str, Any]:
    """Read the one mapping in a YAML file, `-` for standard input. Raises `Failure` with the place."""
    from tinkwell.core.value.yaml import node, position  # ruamel.yaml costs start-up time, see main

    try:
        documents = [node.value_of(each) for each in node.documents(_read(Path("/dev/stdin" if file == "-" else file)))]
    except position.Malformed as error:
        place = f"line {error.position.line}, column {error.position.column}"
        raise failure.Failure(f"{file}: {place}: {error.description}") from error
    match documents:
        case []:
            return {}
        case [dict() as found]:
            return dict(found)
        case _:
            raise failure.Failure(f"{file}: must hold one mapping of names to values")


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise failure.Failure(f"{path}: is larger than {_MAX_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise failure.Failure(f"{path}: is not UTF-8; save it as UTF-8") from error
