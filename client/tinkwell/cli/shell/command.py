"""The kinds of commands: those that talk to a server, groups of them, and those that are imported when they are run."""

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import connection

_EPILOG = "Connection options such as --server are taken here too; tinkwell --help explains them."


def _plain_usage(command: click.Command, ctx: click.Context) -> str:
    """Return the usage for an error message: one plain line, without the decoration of help."""
    formatter = click.HelpFormatter(width=1000)
    click.Command.format_usage(command, ctx, formatter)
    return formatter.getvalue().rstrip("\n")


class Command(click.RichCommand):
    """A command that takes the connection options after its name, except those for which it has options of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("epilog", _EPILOG)
        super().__init__(*args, **kwargs)
        taken = {name for param in self.params for name in param.opts}
        self.params.extend(each for each in connection.options(are_hidden=True) if taken.isdisjoint(each.opts))

    def get_usage(self, ctx: click.Context) -> str:
        """Give the usage for an error message."""
        return _plain_usage(self, ctx)


class Group(click.RichGroup):
    """A group of such commands."""

    command_class = Command

    def get_usage(self, ctx: click.Context) -> str:
        """Give the usage for an error message."""
        return _plain_usage(self, ctx)


@dataclass(frozen=True, slots=True)
class Component:
    """A command that is not imported yet.

    `target` is its place (`module:attribute`), `extra` the extra of the distribution with the libraries that it needs.
    """

    name: str
    target: str
    summary: str
    extra: str = ""

    def load(self) -> click.Command:
        """Import the command. Raises `Failure` if a library that it needs is not installed."""
        module, _, attribute = self.target.partition(":")
        try:
            loaded = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            if connection.current().debug:
                raise
            raise failure.Failure(self._explain(error.name or "")) from error
        assert isinstance(loaded, click.Command), f"{self.target} is not a command"
        return loaded

    def _explain(self, module: str) -> str:
        missing = f"tinkwell {self.name} needs the module {module}, which is not installed"
        is_ours = module.partition(".")[0] == "tinkwell"
        return f"{missing}; install tinkwell[{self.extra}]" if self.extra and not is_ours else missing


class Deferred(click.RichCommand):
    """Stands for a component until the component is run, with its name and summary."""

    def __init__(self, component: Component) -> None:
        super().__init__(name=component.name, help=component.summary)
        self.component = component


class OpenGroup(Group):
    """A group to which other components add commands by entry points, if the modules that they need are installed.

    A command of the group itself wins over an added one of the same name.
    """

    def __init__(self, *args: Any, entry_point_group: str = "", needs: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._entry_point_group = entry_point_group
        self._needs = needs

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self._added()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, and import it if it is another component's."""
        own = super().get_command(ctx, cmd_name)
        added = self._added()
        return own if own or cmd_name not in added else added[cmd_name].load()

    def _added(self) -> dict[str, Component]:
        from importlib import metadata

        if not all(importlib.util.find_spec(module) for module in self._needs):
            return {}
        found = metadata.entry_points(group=self._entry_point_group)
        return {each.name: Component(f"{self.name} {each.name}", each.value, "") for each in found}
