"""Following one workflow until it is finished: a tree on a terminal, lines elsewhere, and its outcome as exit code.

A watch that is live comes before the list, so nothing falls between them. A lost connection is waited for, however long
it takes. The output is only read where a terminal shows it.
"""

import os
import signal
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol, TextIO

import rich_click as click
from click.exceptions import Exit

from tinkwell.cli import failure
from tinkwell.cli.shell import connection, output, session
from tinkwell.cli.workflow import line as workflow_line
from tinkwell.cli.workflow import output_line, server_clock
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from tinkwell.cli.workflow import display as workflow_display
    from tinkwell.client import Action, Client, Watch, Workflow, WorkflowContext

# How often a workflow that has not begun is asked which other one it waits for: no event of its own would tell.
_HOLD_SECONDS = 2.0
# How long the last output lines of a workflow that has failed may take to come after its end.
_LAST_LINES_SECONDS = 5.0

_LOST = "The connection is lost; what happens meanwhile is told once it is back."
_BACK = "The connection is back."


class _View(Protocol):
    """Where changes are shown."""

    def show(self, changed: "workflow_tree.Resource", at: "datetime | None") -> None:
        """Show what the tree has taken."""

    def is_lost(self) -> None:
        """Tell that the connection is lost; called at each try."""

    def is_back(self) -> None:
        """Tell that it is there, if it was lost."""


async def watch(client: "Client", workflow_id: str) -> None:
    """Follow a workflow on standard output; raises as `_judge` says. The end of its reader ends it well."""
    tree = workflow_tree.Tree(workflow_id)
    # What is wrong with the id or the server is told at once; from then on a lost connection is waited for.
    await client.workflows.get(workflow_id)
    stopped = await session.until_stopped(_follow(client, tree, sys.stdout))
    if stopped is not signal.SIGPIPE:
        _judge(tree, stopped)


async def wait(client: "Client", workflow_id: str) -> None:
    """Follow a workflow on standard error, which leaves standard output to results; raises as `_judge` says."""
    tree = workflow_tree.Tree(workflow_id)
    try:
        stopped = await session.until_stopped(_follow(client, tree, sys.stderr), ends_with_reader=False)
    except BrokenPipeError:
        # That nobody listens is no success: who asked for the outcome may still look at the exit code.
        raise Exit(1) from None
    if stopped is not None and not tree.is_over:
        output.note(f"Stopped waiting; the workflow goes on, and tinkwell workflow watch {workflow_id} shows it.")
    _judge(tree, stopped)


def _judge(tree: workflow_tree.Tree, stopped: signal.Signals | None) -> None:
    """Return for a workflow that succeeded; raises `Failure` for any other end, `Exit` where the signal came first."""
    if tree.has_succeeded:
        return
    if not tree.is_over:
        assert stopped is not None  # following ends by nothing else
        raise Exit(128 + stopped)
    raise failure.Failure(output.clean(tree.outcome()))


async def _follow(client: "Client", tree: workflow_tree.Tree, file: TextIO) -> None:
    is_terminal = file.isatty() and os.environ.get("TERM") != "dumb"
    clock = server_clock.ServerClock()
    # What is logged for --debug would be drawn over.
    if not is_terminal or connection.current().debug:
        await _read(client, tree, clock, _Plain(tree, file))
        return
    from tinkwell.cli.workflow import display as workflow_display  # rich costs start-up time, see main

    display = workflow_display.Display(tree, now=clock.now, file=file)
    await _read(client, tree, clock, _Drawn(display), display)


async def _read(
    client: "Client",
    tree: workflow_tree.Tree,
    clock: server_clock.ServerClock,
    view: _View,
    display: "workflow_display.Display | None" = None,
) -> None:
    """Show what happens to the workflow until it is over, with its output where there is a display."""
    import asyncio  # it costs start-up time, see main

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read_hold(client, tree, clock, view), name="hold")]
            if display is not None:
                output_task = group.create_task(_read_output(client, tree, display), name="output")
                tasks += [output_task, group.create_task(display.run(), name="display")]
            await _read_events(client, tree, clock, view)
            if display is not None and not tree.has_succeeded:
                await asyncio.wait((output_task,), timeout=_LAST_LINES_SECONDS)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _read_events(
    client: "Client", tree: workflow_tree.Tree, clock: server_clock.ServerClock, view: _View
) -> None:
    """Take what happens to the workflow until it is over."""
    from tinkwell.client import Event
    from tinkwell.client.watch import reflector  # gRPC costs start-up time, see main

    async def list_all() -> "AsyncIterator[tuple[Workflow, tuple[Action, ...], WorkflowContext]]":
        # In this order: where the workflow is over, so are all of its actions.
        workflow = await client.workflows.get(tree.workflow_id)
        actions = await client.workflows.actions(tree.workflow_id)
        clock.is_at_least(server_clock.moment_of_answer(workflow, actions))
        yield workflow, actions, await client.workflows.context(tree.workflow_id)

    def open_watch() -> "Watch":
        return client.workflows.watch(
            resource_id=tree.workflow_id,
            now=True,
            on_created=lambda watch: view.is_back(),
            on_disconnect=lambda watch, error, delay_seconds: view.is_lost(),
        )

    async with aclosing(reflector.Reflector(list_all, open_watch).stream()) as parts:
        async for part in parts:
            if isinstance(part, Event):
                clock.is_at_least(part.created_at)
                if (changed := tree.apply(part)) is not None:
                    view.show(changed, part.created_at)
            else:
                workflow, actions, context = part.items[0]
                tree.hold(context)
                for changed in tree.replace(workflow, actions):
                    view.show(changed, tree.moment(changed))
            if tree.is_over:
                return


async def _read_hold(client: "Client", tree: workflow_tree.Tree, clock: server_clock.ServerClock, view: _View) -> None:
    """Ask from time to time which other workflow keeps this one waiting, until it has begun."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors  # gRPC costs start-up time, see main

    while tree.workflow is None or tree.workflow.state is State.PENDING:
        await asyncio.sleep(_HOLD_SECONDS)
        try:
            context = await client.workflows.context(tree.workflow_id)
        except errors.Error:
            continue  # whatever it is, the watch tells it too, or ends by it
        if (waiting := tree.hold(context)) is not None:
            view.show(waiting, clock.now())


async def _read_output(client: "Client", tree: workflow_tree.Tree, display: "workflow_display.Display") -> None:
    """Take the output of the workflow until it is over; where the server refuses it, the tree goes on without."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        # That the connection is lost, the watch tells.
        async for line in output_line.lines(client, tree.workflow_id, follow=True, on_lost=lambda: None):
            tree.add(line)
            display.change()
    except errors.NotFound:
        return  # it was deleted, which the watch tells
    except errors.Error as error:
        display.note(f"The output cannot be shown: {error.message}")


class _Plain:
    """Writes a line for each change."""

    def __init__(self, tree: workflow_tree.Tree, file: TextIO) -> None:
        self._lines = workflow_line.Lines(tree)
        self._file = file
        self._is_lost = False

    def show(self, changed: "workflow_tree.Resource", at: "datetime | None") -> None:
        for line in self._lines.of(changed, at):
            click.echo(line, file=self._file, color=True)

    def is_lost(self) -> None:
        if not self._is_lost:
            output.note(_LOST)
        self._is_lost = True

    def is_back(self) -> None:
        if self._is_lost:
            output.note(_BACK)
        self._is_lost = False


class _Drawn:
    """Has the tree drawn after each change."""

    def __init__(self, display: "workflow_display.Display") -> None:
        self._display = display
        self._is_lost = False

    def show(self, changed: "workflow_tree.Resource", at: "datetime | None") -> None:
        self._display.change()

    def is_lost(self) -> None:
        self._is_lost = True
        self._display.note(_LOST)

    def is_back(self) -> None:
        if self._is_lost:
            self._display.note("")
        self._is_lost = False
