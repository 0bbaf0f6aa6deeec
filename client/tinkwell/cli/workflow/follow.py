"""Following one workflow until it is finished: a tree on a terminal, lines elsewhere, and its outcome as exit code.

A watch that is live comes before the list, so nothing falls between them. A lost connection is waited for, however long
it takes. The output is only read where a terminal shows it.
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

# How often a workflow that has not begun is asked which other one it waits for: no event of its own would tell.
_HOLD_SECONDS = 2.0
# How long the last output lines of a workflow that has failed may take to come after its end.
_LAST_LINES_SECONDS = 5.0


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
    """Show what happens to the workflow until it is over, with its output where there is a display."""
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
    """Take what happens to the workflow until it is over."""
    from tinkwell.client import Event
    from tinkwell.client.watch import reflector  # gRPC costs start-up time, see main

    async def list_all() -> "AsyncIterator[tuple[Workflow, tuple[Action, ...], WorkflowContext]]":
        # In this order: where the workflow is over, so are all of its actions.
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
            shown.show(waiting, clock.now())


async def _read_output(client: "Client", tree: workflow_tree.Tree, display: "Display") -> None:
    """Take the output of the workflow until it is over; where the server refuses it, the tree goes on without."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        # That the connection is lost, the watch tells.
        async for line in lines(client, tree.workflow_id, follow=True, on_lost=lambda: None):
            tree.add(line)
            display.change()
    except errors.NotFound:
        return  # it was deleted, which the watch tells
    except errors.Error as error:
        display.note(f"The output cannot be shown: {error.message}")


def lines(
    client: "Client", workflow_id: str, *, follow: bool, on_lost: "Callable[[], None]" = log_line.say_lost
) -> "AsyncIterator[LogLine]":
    """Iterate over a workflow's output; a followed stream goes on after a lost connection, each line once."""
    return log_line.lines(
        lambda: client.workflows.logs(workflow_id, follow=follow),
        printer=lambda line: line.action_id,
        follow=follow,
        on_lost=on_lost,
    )
