"""Finds the class of a charm in a Python file."""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from tinkwell.charm import errors
from tinkwell.charm.charm import Charm


def load(target: str) -> type[Charm]:
    """Import a file and return its charm: `web.py:Web`, or `web.py` if it has only one.

    The folder of the file is added to the module path. Raises `DeclarationError` if there is no such charm, and any
    error of the file itself.
    """
    name, _, attribute = target.partition(":")
    path = Path(name)
    if not path.is_file():
        raise errors.DeclarationError(f"{name} is no file; give the file of a charm and its class, such as web.py:Web")
    found = vars(_module(path))
    return _named(name, found, attribute) if attribute else _only(name, found, path.stem)


def _module(path: Path) -> ModuleType:
    """Import a file once, as the module of its name."""
    name, file = path.stem, path.resolve()
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not name.isidentifier() or known is not None:
        raise errors.DeclarationError(f"{path} cannot be imported as a module {name}; rename it")
    if (folder := str(file.parent)) not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    # Code that looks up a class by its module, as dataclasses do, needs this entry.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _named(file: str, found: dict[str, object], attribute: str) -> type[Charm]:
    chosen = found.get(attribute)
    if not (inspect.isclass(chosen) and issubclass(chosen, Charm)):
        raise errors.DeclarationError(f"{file} has no class {attribute} that derives from Charm")
    return chosen


def _only(file: str, found: dict[str, object], module_name: str) -> type[Charm]:
    charms = [
        each
        for each in found.values()
        if inspect.isclass(each) and issubclass(each, Charm) and each.__module__ == module_name
    ]
    if len(charms) != 1:
        raise errors.DeclarationError(f"{file} has {len(charms)} charms; say which one, as in {file}:Web")
    return charms[0]
