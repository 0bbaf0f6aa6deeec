"""Finding the class of a charm in a file of Python."""

import importlib.util
import inspect
import sys
from pathlib import Path

from tinkwell.charm import errors
from tinkwell.charm.charm import Charm


def load(target: str) -> type[Charm]:
    """Import a file and return the charm in it: `web.py:Web`, or `web.py` where it is the only one.

    Its folder is where it finds modules from now on. Raises `DeclarationError` where there is no such charm,
    and whatever the file itself raises.
    """
    name, _, attribute = target.partition(":")
    path = Path(name)
    if not path.is_file():
        raise errors.DeclarationError(f"{name} is no file; give the file of a charm and its class, such as web.py:Web")
    module_name = path.stem
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None or not module_name.isidentifier() or module_name in sys.modules:
        raise errors.DeclarationError(f"{name} cannot be imported as a module {module_name}; rename it")
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    # Charms that look for their module, as dataclasses do, find it there.
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return _only(name, vars(module), module_name) if not attribute else _named(name, vars(module), attribute)


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
