"""Follows one workflow until it is finished: as a tree on a terminal, as lines elsewhere. The exit code is its outcome.

The watch is live before the resources are listed, so no change is missed between them. After a lost connection the
command waits until it is back, however long that takes. The output is read only if a terminal shows it.
"""

import signal
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, TextIO

from click.exceptions import Exit

from tinkwell.cli import failure
from tinkwell.cli.shell import log_line, output, server_clock, session, view
from tinkwell.cli.workflow import line as workflow_line
from tinkwell.cli.workflow import outline
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tinkwell.cli.shell.display import Display
    from tinkwell.client import Action, Client, LogLine, Watch, Workflow, WorkflowContext

    _View = view.View[workflow_tree.Resource]

# How often the server is asked which other workflow this one waits for, before it has begun: no event tells that.
_HOLD_SECONDS = 2.0
# How long to wait, after the end of a failed workflow, for its last output lines.
_LAST_LINES_SECONDS = 5.0


async def watch(client: "Client", workflow_id: str) -> None:
    """Follow a workflow on standard output; raises what `_judge` raises. Ends with success if the reader is gone."""
    tree = workflow_tree.Tree(workflow_id)
    # A wrong id, or a server that does not answer, is told at once. After this call, a lost connection is waited for.
    await client.workflows.get(workflow_id)
    stopped = await session.until_stopped(_follow(client, tree, sys.stdout))
    if stopped is not signal.SIGPIPE:
        _judge(tree, stopped)


async def wait(client: "Client", workflow_id: str) -> None:
    """Follow a workflow on standard error, to keep standard output for results; raises what `_judge` raises."""
    tree = workflow_tree.Tree(workflow_id)
    try:
        stopped = await session.until_stopped(_follow(client, tree, sys.stderr), ends_with_reader=False)
    except BrokenPipeError:
        # Nobody reads the output, but the caller may still look at the exit code, and the outcome is unknown.
        raise Exit(1) from None
    if stopped is not None and not tree.is_over:
        output.note(f"Stopped waiting; the workflow goes on, and tinkwell workflow watch {workflow_id} shows it.")
    _judge(tree, stopped)


def _judge(tree: workflow_tree.Tree, stopped: signal.Signals | None) -> None:
    """Return if the workflow succeeded. Raises `Failure` for any other end, `Exit` if a signal came before the end."""
    if tree.has_succeeded:
        return
    if not tree.is_over:
        assert stopped is not None  # only a signal ends the following before the workflow ends
        raise Exit(128 + stopped)
    raise failure.Failure(output.clean(tree.outcome()))


async def _follow(client: "Client", tree: workflow_tree.Tree, file: TextIO) -> None:
    clock = server_clock.ServerClock()
    if not view.can_be_drawn_on(file):
        await _read(client, tree, clock, view.Plain(workflow_line.Lines(tree).of, file))
        return
    from tinkwell.cli.shell import display  # rich costs start-up time, see main

    shown = display.Display(lambda note: outline.outline(tree, clock.now(), note=note), file=file)
    await _read(client, tree, clock, view.Drawn(shown), shown)


async def _read(
    client: "Client",
    tree: workflow_tree.Tree,
    clock: server_clock.ServerClock,
    shown: "_View",
    display: "Display | None" = None,
) -> None:
    """Show all changes of the workflow until it is over, and on a display also its output."""
    import asyncio  # it costs start-up time, see main

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read_hold(client, tree, clock, shown), name="hold")]
            if display is not None:
                output_task = group.create_task(_read_output(client, tree, display), name="output")
                tasks += [output_task, group.create_task(display.run(), name="display")]
            await _read_events(client, tree, clock, shown)
            if display is not None and not tree.has_succeeded:
                await asyncio.wait((output_task,), timeout=_LAST_LINES_SECONDS)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _read_events(
    client: "Client", tree: workflow_tree.Tree, clock: server_clock.ServerClock, shown: "_View"
) -> None:
    """Take and show the changes of the workflow until it is over."""
    from tinkwell.client import Event
    from tinkwell.client.watch import reflector  # gRPC costs start-up time, see main

    async def list_all() -> "AsyncIterator[tuple[Workflow, tuple[Action, ...], WorkflowContext]]":
        # The workflow is read first: if it is over by then, all actions read after it are over, too.
        workflow = await client.workflows.get(tree.workflow_id)
        actions = await client.workflows.actions(tree.workflow_id)
        clock.is_at_least(workflow_tree.moment_of_answer(workflow, actions))
        yield workflow, actions, await client.workflows.context(tree.workflow_id)

    def open_watch() -> "Watch":
        return client.workflows.watch(
            resource_id=tree.workflow_id,
            now=True,
            on_created=lambda watch: shown.is_back(),
            on_disconnect=lambda watch, error, delay_seconds: shown.is_lost(),
        )

    async with aclosing(reflector.Reflector(list_all, open_watch).stream()) as parts:
        async for part in parts:
            if isinstance(part, Event):
                clock.is_at_least(part.created_at)
                if (changed := tree.apply(part)) is not None:
                    shown.show(changed, part.created_at)
            else:
                workflow, actions, context = part.items[0]
                tree.hold(context)
                for changed in tree.replace(workflow, actions):
                    shown.show(changed, tree.moment(changed))
            if tree.is_over:
                return


async def _read_hold(
    client: "Client", tree: workflow_tree.Tree, clock: server_clock.ServerClock, shown: "_View"
) -> None:
    """Ask from time to time which other workflow this one waits for, until it has begun."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors  # gRPC costs start-up time, see main

    while tree.workflow is None or tree.workflow.state is State.PENDING:
        await asyncio.sleep(_HOLD_SECONDS)
        try:
            context = await client.workflows.context(tree.workflow_id)
        except errors.Error:
            continue  # the watch meets the same error, and tells it or ends with it
        if (waiting := tree.hold(context)) is not None:
            shown.show(waiting, clock.now())


async def _read_output(client: "Client", tree: workflow_tree.Tree, display: "Display") -> None:
    """Show the output of the workflow until it is over. If the server refuses it, the tree is shown without output."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        # The watch tells of a lost connection.
        async for line in lines(client, tree.workflow_id, follow=True, on_lost=lambda: None):
            tree.add(line)
            display.change()
    except errors.NotFound:
        return  # the workflow was deleted, and the watch tells that
    except errors.Error as error:
        display.note(f"The output cannot be shown: {error.message}")


def lines(
    client: "Client", workflow_id: str, *, follow: bool, on_lost: "Callable[[], None]" = log_line.say_lost
) -> "AsyncIterator[LogLine]":
    """Iterate over a workflow's output. With `follow`, a lost connection is resumed, and each line comes once."""
    return log_line.lines(
        lambda: client.workflows.logs(workflow_id, follow=follow),
        printer=lambda line: line.action_id,
        follow=follow,
        on_lost=on_lost,
    )
