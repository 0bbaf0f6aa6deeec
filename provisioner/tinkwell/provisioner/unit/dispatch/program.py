"""Finds the program of a charm that an event or a task is told to."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinkwell.core.unit.kinds import CharmKind
from tinkwell.provisioner.unit.attempt.given import Occasion

HOOKS, ACTIONS = "hooks", "actions"
DISPATCH, ENTRY, VENV = "dispatch", "src/charm.py", "venv"
# Where a charm without a dispatch of its own has its modules.
MODULES = "lib:venv:src"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program with its arguments. `modules` is where Python looks beside its own, empty where that is not ours."""

    argv: Sequence[str]
    modules: str = ""


def path_of(occasion: Occasion) -> str:
    """Return the path by which charms know what they are told, such as `hooks/install`; empty for a command."""
    if (task := occasion.task) is None:
        return f"{HOOKS}/{occasion.name}"
    return "" if task.arguments else f"{ACTIONS}/{task.name}"


def find(charm: Path, kind: CharmKind, occasion: Occasion) -> Program | None:
    """Find what is to be run; None where the charm has nothing for it, which is a success."""
    if occasion.task is not None and occasion.task.arguments:
        return Program(argv=occasion.task.arguments)
    own = charm / path_of(occasion)
    if kind is not CharmKind.OPS:
        return Program(argv=(str(own),)) if own.is_file() else None
    for path in (charm / DISPATCH, own):
        if path.is_file() and os.access(path, os.X_OK):
            return Program(argv=(str(path),))
    if (charm / ENTRY).is_file():
        return Program(argv=("python3", ENTRY), modules=MODULES)
    return None


def needs_packages(charm: Path) -> bool:
    """Say whether a charm needs packages of Python beside its own modules."""
    return (charm / ENTRY).is_file() or (charm / VENV).is_dir()
