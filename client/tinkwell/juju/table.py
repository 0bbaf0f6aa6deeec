"""All commands: those that are there, and why others are not."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """A command that is not imported yet. `target` says where it is (`module:attribute`)."""

    target: str
    aliases: tuple[str, ...] = ()

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        loaded = getattr(importlib.import_module(module), attribute)
        assert isinstance(loaded, click.Command), f"{self.target} is not a command"
        return loaded


COMMANDS: Mapping[str, Entry] = {
    # models
    "version": Entry("tinkwell.juju.model.version:version"),
}

REFUSED: Mapping[str, str] = {}


def find(name: str) -> Entry | None:
    """Find a command by its name or one of its aliases."""
    if name in COMMANDS:
        return COMMANDS[name]
    return next((each for each in COMMANDS.values() if name in each.aliases), None)
