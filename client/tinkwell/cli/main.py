"""The `tinkwell` command: its global options, its own commands, and those that other components add.

Users wait for the start of each command, so modules that are slow to import are imported inside the functions that need
them, here and in the other modules of this package: gRPC and the client, asyncio, ruamel.yaml, the commands themselves.
Everywhere else in the project imports stand at the top.
"""

import functools
import os
import sys
from typing import Any

import rich_click as click
from click.core import ParameterSource
from click.exceptions import Exit

from tinkwell.cli import failure
from tinkwell.cli.shell import connection
from tinkwell.cli.shell.command import Component, Deferred, Group
from tinkwell.core.process_log import terminal

ENTRY_POINT_GROUP = "tinkwell.commands"

RESOURCES = (
    Component(
        "hardware", "tinkwell.cli.hardware.commands:hardware", "Machines: their addresses, metadata and boot settings."
    ),
    Component(
        "template", "tinkwell.cli.template.commands:template", "Templates: the steps to run, and on which machine."
    ),
    Component("workflow", "tinkwell.cli.workflow.commands:workflow", "Workflows: runs of templates on machines."),
    Component(
        "release",
        "tinkwell.cli.release.commands:release",
        "Releases: resources that are installed together, in order.",
    ),
    Component(
        "chart", "tinkwell.cli.chart.commands:chart", "Charts: upload, list and check what releases are made of."
    ),
    Component(
        "app", "tinkwell.cli.unit.application:app", "Applications: charms that run as units, related to each other."
    ),
    Component("unit", "tinkwell.cli.unit.commands:unit", "Units: their state, events, logs and actions."),
    Component("task", "tinkwell.cli.unit.task:task", "Tasks: actions and commands that units run once."),
    Component("charm", "tinkwell.cli.unit.charm:charm", "Charms: upload, list and check what units run."),
    Component(
        "namespace",
        "tinkwell.cli.unit.namespace:namespace",
        "Namespaces, which hold applications, and their settings.",
    ),
    Component(
        "secret",
        "tinkwell.cli.unit.secret:secret",
        "Secrets, which only charms may read, and the keys that encrypt them.",
    ),
    Component(
        "events", "tinkwell.cli.event.commands:events", "Watch the log of all changes, and record events of your own."
    ),
)
_SHELL = (
    Component(
        "completion", "tinkwell.cli.shell.completion:completion", "Print what a shell needs to complete command lines."
    ),
)

# The summaries of the project's other components, and the extras with their libraries. They are repeated here because
# reading them from a component would import it.
_KNOWN = {
    "dev": ("Run everything on this machine, with a database of its own.", "dev"),
    "server": ("Run a server.", "server"),
    "provisioner": ("Run a provisioner, which brings workflows and releases to completion.", "provisioner"),
    "agent": ("Run the actions that are meant for certain machines.", "provisioner"),
    "automation": ("React to events by rules in a file.", "provisioner"),
    "db": ("Upgrade the database's schema, and delete old events.", "server"),
    "resource": ("Types of resources: begin one, and try it out.", "provisioner"),
}
# The components for authors of resource types.
_AUTHORS = ("resource",)


class Root(Group):
    """The group of all commands, which turns every error into an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands of this module, then those of other components."""
        return list(_components())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, without importing it."""
        component = _own().get(cmd_name) or _components().get(cmd_name)
        return Deferred(component) if component else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command to run, and import it."""
        name, found, rest = super().resolve_command(ctx, args)
        if not isinstance(found, Deferred):
            return name, found, rest
        loaded = found.component.load()
        is_own = found.component.name in _own()
        return name, loaded, rest if is_own else [*_handed_on(ctx, loaded), *rest]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; its error becomes a sentence and an exit code."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has closed the pipe. Without this, Python reports that again when it flushes at exit.
            _discard_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(130)
        except click.ClickException as error:
            # Commands of other components put texts of servers and files into the message.
            vars(error)["message"] = terminal.escaped(error.message)
            raise
        except (click.Abort, Exit):
            raise
        except Exception as error:
            if connection.current().debug:
                raise
            raise failure.Failure(failure.describe(error)) from error

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run like click's own groups, because rich-click puts each error into a box."""
        return click.Group.main(self, *args, **kwargs)


def _handed_on(ctx: click.Context, command: click.Command) -> list[str]:
    """Return the global options before another component's command as options of that command, if it has them."""
    theirs = {name for param in command.params if isinstance(param, click.Option) for name in param.opts}
    chosen = connection.current()
    words: list[str] = []
    for param in ctx.command.params:
        is_given = param.name and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
        if is_given and param.opts[0] in theirs:
            match getattr(chosen, param.name or ""):
                case str() as value:
                    words += [param.opts[0], value]
                case True:
                    words.append(param.opts[0])
    return words


@functools.cache
def _own() -> dict[str, Component]:
    return {component.name: component for component in (*RESOURCES, *_SHELL)}


@functools.cache
def _components() -> dict[str, Component]:
    """Return all components by name: those of this module first, then those of entry points."""
    from importlib import metadata

    found = dict(_own())
    for entry_point in sorted(metadata.entry_points(group=ENTRY_POINT_GROUP), key=lambda item: item.name):
        summary, extra = _KNOWN.get(entry_point.name, (f"Provided by {entry_point.value.partition('.')[0]}.", ""))
        found.setdefault(entry_point.name, Component(entry_point.name, entry_point.value, summary, extra))
    return found


def _discard_output() -> None:
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@click.group(
    name="tinkwell",
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=(
        "Options can be set in the environment, too: TINKWELL_SERVER, TINKWELL_TOKEN, TINKWELL_TLS_CA and so on. "
        "Exit codes: 0 done, 1 failed, 2 the command line is wrong."
    ),
)
@click.command_panel("Resources", commands=[component.name for component in RESOURCES])
@click.command_panel("Processes", commands=[name for name in _KNOWN if name not in _AUTHORS])
@click.command_panel("For authors", commands=list(_AUTHORS))
@click.command_panel("Shell", commands=[component.name for component in _SHELL])
@click.rich_config({"commands_before_options": True})
@click.version_option(package_name="tinkwell", message="%(prog)s %(version)s")
def main() -> None:
    """Provision machines, deploy applications, and watch every change as it happens.

    `tinkwell dev` starts all of it on this machine.
    """


main.params.extend(connection.options())
