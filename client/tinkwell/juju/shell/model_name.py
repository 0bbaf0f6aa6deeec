"""The current model, and names of models as Juju writes them, `[controller:][user/]model`. A model is a namespace.

`--model` names the current model, else JUJU_MODEL, else the file that `switch` writes; else it is `default`.
"""

import os
from pathlib import Path

from tinkwell.core import errors
from tinkwell.core.release import name as namespaces
from tinkwell.juju.shell import controller, failure

DEFAULT = "default"

_FILE = "current-model"
_MOST_CHARACTERS = 300


def parse(reference: str) -> str:
    """Return the namespace that a reference to a model names; raises `Failure`."""
    place, colon, rest = reference.rpartition(":")
    if colon:
        check_controller(place)
    user, slash, model = rest.rpartition("/")
    if slash and user != controller.USER:
        raise failure.Failure(f'model "{rest}" not found; all models belong to {controller.USER}')
    try:
        return namespaces.parse_namespace("", model) if model else DEFAULT
    except errors.InvalidField as error:
        raise failure.Failure(f'"{model}" is not a valid model name: {error.violations[0].description}') from error


def check_controller(name: str) -> None:
    """Raise `Failure` for a name that is not the only controller's."""
    if name != controller.NAME:
        raise failure.Failure(f"controller {name} not found; the server is the controller {controller.NAME}")


def qualified(namespace: str) -> str:
    """Return the name of a model with its owner."""
    return f"{controller.USER}/{namespace}"


def current() -> str:
    """Return the namespace of the current model; raises `Failure`."""
    if given := os.environ.get("JUJU_MODEL"):
        return parse(given)
    try:
        return parse(_path().read_text()[:_MOST_CHARACTERS].strip())
    except FileNotFoundError:
        return DEFAULT


def keep(namespace: str) -> None:
    """Make a namespace the current model."""
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file is replaced in one step, so a command that reads it meanwhile sees the former name or the new one.
    written = path.with_name(f"{_FILE}.{os.getpid()}")
    written.write_text(f"{namespace}\n")
    written.replace(path)


def forget(namespace: str) -> None:
    """If this namespace is the current model, make the default one the current model."""
    if "JUJU_MODEL" not in os.environ and current() == namespace:
        _path().unlink(missing_ok=True)


def _path() -> Path:
    if given := os.environ.get("JUJU_DATA"):
        return Path(given) / "tinkwell" / _FILE
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "tinkwell" / "juju" / _FILE
