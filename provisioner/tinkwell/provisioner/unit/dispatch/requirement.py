"""Says which packages of Python a charm asks for, as its source does, in the arguments of pip."""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENTS, PROJECT = "requirements.txt", "pyproject.toml"
LOCKS = ("uv.lock", "poetry.lock")
# More than that is no list of packages.
MAX_BYTES = 4 * 1024 * 1024
_MAX_LIBRARIES = 1_000


class Unreadable(Exception):
    """A file that says what is needed cannot be read; the text says which one and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What pip is told to install, and the text of a file of constraints, empty for none."""

    arguments: tuple[str, ...] = ()
    constraints: str = ""


def find(charm: Path) -> Requirements:
    """Find what a charm asks for; nothing where no file of its says so. Raises `Unreadable` and `OSError`."""
    libraries = tuple(_of_libraries(charm))
    if (charm / REQUIREMENTS).is_file():
        return Requirements(arguments=("-r", REQUIREMENTS, *libraries))
    if (charm / PROJECT).is_file():
        found = tuple(_of_project(_read(charm / PROJECT)))
        return Requirements(arguments=(*found, *libraries), constraints=_constraints(charm))
    return Requirements(arguments=libraries)


def _of_project(project: dict[str, Any]) -> Iterator[str]:
    """Yield the packages that a project depends on; what poetry has its own words for is pinned by its lock."""
    yield from _texts(_table(project, "project").get("dependencies"))
    for name in _table(_table(_table(project, "tool"), "poetry"), "dependencies"):
        if name.lower() != "python":
            yield name


def _constraints(charm: Path) -> str:
    """Pin what a lock names once; of what it names for several systems, pip chooses."""
    lock = next((charm / name for name in LOCKS if (charm / name).is_file()), None)
    if lock is None:
        return ""
    versions = dict[str, set[str]]()
    packages = _read(lock).get("package")
    for package in packages if isinstance(packages, list) else []:
        if isinstance(package, dict) and not {"virtual", "editable", "directory"} & _table(package, "source").keys():
            versions.setdefault(str(package.get("name")), set()).add(str(package.get("version")))
    return "".join(f"{name}=={found.pop()}\n" for name, found in sorted(versions.items()) if len(found) == 1)


def _of_libraries(charm: Path) -> Iterator[str]:
    """Yield what the libraries of a charm say that they need, in a list that is not computed."""
    for path in sorted(charm.glob("lib/charms/*/v*/*.py"))[:_MAX_LIBRARIES]:
        if path.stat().st_size > MAX_BYTES:
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue  # which only matters to who imports it
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(isinstance(target, ast.Name) and target.id == "PYDEPS" for target in targets):
                yield from _texts(_literal(node.value) if isinstance(node, ast.Assign) else [])


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return []


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_BYTES:
        raise Unreadable(f"{path.name} has more than {MAX_BYTES:,} bytes")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path.name} cannot be read: {error}") from error


def _table(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> Iterator[str]:
    # What begins with a dash would be an option of pip.
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, str) and not each.startswith("-"))
