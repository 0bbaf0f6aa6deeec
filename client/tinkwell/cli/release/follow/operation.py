"""Follows one operation until it has ended: as a tree on a terminal, as lines elsewhere. The exit code is its outcome.

The watch is live before the resources are listed, so no change is missed between them. No event tells of the nodes of a
new plan, of phases, and of calls that change nothing, so these are listed from time to time. After a lost connection
the command waits until it is back, however long that takes. Ctrl-C ends the following, not the operation.
"""

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING, TextIO

import rich_click as click
from click.exceptions import Exit

from tinkwell.cli import failure
from tinkwell.cli.release.follow import line as release_line
from tinkwell.cli.release.follow import outline, summary
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import log_line, output, server_clock, session, view
from tinkwell.core.event.kinds import ResourceType, State
from tinkwell.core.release.transition.ending import follow_up_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tinkwell.cli.shell.display import Display
    from tinkwell.client import Client, LifecycleRun, Node, Operation, StepLogLine, Watch

    _Listed = tuple[Operation, list[Node], list[LifecycleRun]]
    _View = view.View[release_tree.Resource]

# The pause between two lists of nodes: at least this long, and at least _LIST_SHARE times as long as a list takes.
_LIST_SECONDS = 1.0
_LIST_SHARE = 10
# If no provisioner has taken the operation after this time, the user is told what to do.
_TAKEN_SECONDS = 3.0
# How long to wait, after the end of a failed operation, for its last output lines.
_LAST_LINES_SECONDS = 5.0


async def follow(
    client: "Client",
    operation: "Operation",
    *,
    chosen: output.Format,
    is_begun_here: bool,
    source: summary.Source | None = None,
) -> None:
    """Follow an operation to its end. Raises `Failure` if it does not succeed.

    If an atomic operation fails, the operation that returns to the former state is followed, too. With the format
    table, the progress is shown on standard output. With another format it is shown on standard error, and the ended
    operation with its nodes is written to standard output. If the reader of standard output is gone, the following ends
    with success, unless the operation `is_begun_here`: then it is an error not to learn the outcome.
    """
    followed: list[release_tree.Tree] = []
    file = sys.stdout if chosen is output.Format.TABLE else sys.stderr
    try:
        stopped = await session.until_stopped(
            _follow_all(client, operation, followed, file), ends_with_reader=not is_begun_here
        )
    except BrokenPipeError:
        raise Exit(1) from None
    if stopped is signal.SIGPIPE:
        return
    tree = followed[-1]
    if not tree.is_over:
        assert stopped is not None  # only a signal ends the following before the operation ends
        if is_begun_here:
            _say_detached(operation)
        raise Exit(128 + stopped)
    if chosen is not output.Format.TABLE:
        output.whole(document(tree), chosen)
    if followed[0].has_succeeded:
        click.echo(output.clean(summary.success(followed[0])), file=file)
    else:
        raise failure.Failure(*_sentences(followed, source))


def document(tree: release_tree.Tree) -> dict[str, object]:
    """Return the JSON form of an operation with its nodes."""
    operation = tree.operation.to_json() if tree.operation is not None else None
    return {"operation": operation, "nodes": [node.to_json() for node in tree.nodes]}


def lines(
    client: "Client",
    operation_id: str,
    *,
    follow: bool,
    path: str = "",
    on_lost: "Callable[[], None]" = log_line.say_lost,
) -> "AsyncIterator[StepLogLine]":
    """Iterate over an operation's output. With `follow`, a lost connection is resumed, and each line comes once."""
    return log_line.lines(
        lambda: client.releases.logs(operation_id, follow=follow, path=path),
        printer=lambda line: line.step_id,
        follow=follow,
        on_lost=on_lost,
    )


async def write_tail(client: "Client", tree: release_tree.Tree, file: TextIO) -> None:
    """Write the last output lines of the node that failed first."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main
    from tinkwell.client.release import failure as words

    node = words.first_failed(tree.nodes)
    if node is None:
        return
    try:
        async for line in client.releases.logs(tree.operation_id, path=node.path):
            tree.add(line)
    except errors.Error:
        return  # the output is not worth an error: the outcome is still to be told
    for text in tree.tail(node):
        click.echo(f"{output.clean(node.path)} | {output.clean_output(text)}", file=file)


def _say_detached(operation: "Operation") -> None:
    shows, ends = summary.command("watch", operation), summary.command("cancel", operation)
    output.note(f"Stopped following; the operation goes on: {shows} shows it, {ends} ends it.")


def _sentences(followed: list[release_tree.Tree], source: summary.Source | None) -> list[str]:
    """Say why the first operation failed, and how the one ended that returned to the former state, if there was one."""
    first, last = followed[0], followed[-1]
    sentences = summary.failure(first, may_resume=first is last, source=source)
    if first is last:
        return sentences
    if last.has_succeeded:
        return [*sentences, f"returned to the former state: {summary.success(last)}"]
    return [*sentences, *summary.failure(last, may_resume=True, source=source)]


async def _follow_all(
    client: "Client", operation: "Operation", followed: list[release_tree.Tree], file: TextIO
) -> None:
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    followed.append(tree := release_tree.Tree(operation.id))
    await _follow(client, operation, tree, file)
    if tree.has_succeeded or operation.options is None or not operation.options.atomic:
        return
    try:
        second = await client.releases.operation(follow_up_id(operation.id))
    except errors.NotFound:
        return  # the first operation had changed nothing, so no second one was begun
    followed.append(tree := release_tree.Tree(second.id))
    await _follow(client, second, tree, file)


async def _follow(client: "Client", operation: "Operation", tree: release_tree.Tree, file: TextIO) -> None:
    clock = server_clock.ServerClock()
    if not view.can_be_drawn_on(file):
        shown = view.Plain(release_line.Lines(tree).of, file)
        await _read(client, operation, tree, clock, shown)
        await write_tail(client, tree, file)
        return
    from tinkwell.cli.shell import display  # rich costs start-up time, see main

    drawn = display.Display(lambda note: outline.outline(tree, clock.now(), note=note), file=file)
    await _read(client, operation, tree, clock, view.Drawn(drawn), drawn)


async def _read(
    client: "Client",
    operation: "Operation",
    tree: release_tree.Tree,
    clock: server_clock.ServerClock,
    shown: "_View",
    display: "Display | None" = None,
) -> None:
    """Show all changes of the operation until it is over, and on a display also its output."""
    import asyncio  # it costs start-up time, see main

    try:
        async with asyncio.TaskGroup() as group:
            listing = _list_again(client, tree, clock, shown, has_display=display is not None)
            tasks = [group.create_task(listing, name="list")]
            if display is not None:
                output_task = group.create_task(_read_output(client, tree, display), name="output")
                tasks += [output_task, group.create_task(display.run(), name="display")]
            await _read_events(client, operation, tree, clock, shown)
            if display is not None and not tree.has_succeeded:
                await asyncio.wait((output_task,), timeout=_LAST_LINES_SECONDS)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _read_events(
    client: "Client",
    operation: "Operation",
    tree: release_tree.Tree,
    clock: server_clock.ServerClock,
    shown: "_View",
) -> None:
    """Take and show the changes of the operation until it is over. Waits after a lost connection."""
    from tinkwell.client import Event, errors
    from tinkwell.client.watch import reflector  # gRPC costs start-up time, see main

    async def list_all() -> "AsyncIterator[_Listed]":
        yield await _list(client, tree.operation_id, has_runs=True)

    def open_watch() -> "Watch":
        return client.releases.watch(
            resource_id=operation.release_id,
            resource_types=(ResourceType.OPERATION, ResourceType.NODE, ResourceType.STEP, ResourceType.LIFECYCLE),
            now=True,
            on_created=lambda watch: shown.is_back(),
            on_disconnect=lambda watch, error, delay_seconds: shown.is_lost(),
        )

    async with contextlib.aclosing(reflector.Reflector(list_all, open_watch).stream()) as parts:
        async for part in parts:
            if isinstance(part, Event):
                if part.resource_type is ResourceType.NODE and not tree.is_whole:
                    # There is a plan now. Its nodes are shown before the first change of one of them.
                    with contextlib.suppress(errors.Error):
                        _take(await _list(client, tree.operation_id), tree, clock, shown)
                clock.is_at_least(part.created_at)
                if (changed := tree.apply(part)) is not None:
                    shown.show(changed, part.created_at)
            else:
                _take(part.items[0], tree, clock, shown)
            if tree.is_over:
                break
    # The last list has the changes of which no event tells. Without an answer, they stay unknown.
    with contextlib.suppress(errors.Error):
        _take(await _list(client, tree.operation_id, has_runs=True), tree, clock, shown)


async def _list(client: "Client", operation_id: str, *, has_runs: bool = False) -> "_Listed":
    """Get the operation with its nodes and, with `has_runs`, the lifecycle events that it has emitted."""
    # The operation is read first: if it is over by then, all nodes read after it are over, too.
    operation = await client.releases.operation(operation_id)
    nodes = [node async for node in client.releases.nodes(operation_id)]
    return operation, nodes, [run async for run in client.releases.lifecycle(operation_id)] if has_runs else []


def _take(listed: "_Listed", tree: release_tree.Tree, clock: server_clock.ServerClock, shown: "_View") -> None:
    operation, nodes, runs = listed
    clock.is_at_least(release_tree.moment_of_answer(operation))
    for changed in tree.replace(operation, nodes, runs):
        shown.show(changed, tree.moment(changed))


async def _list_again(
    client: "Client", tree: release_tree.Tree, clock: server_clock.ServerClock, shown: "_View", *, has_display: bool
) -> None:
    """List the nodes again and again; without a display, which shows single steps, only until all nodes are known."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors  # gRPC costs start-up time, see main

    began_at, taken, hint = time.monotonic(), 0.0, ""
    while has_display or not tree.is_whole:
        await asyncio.sleep(max(_LIST_SECONDS, taken * _LIST_SHARE))
        asked_at = time.monotonic()
        try:
            listed = await _list(client, tree.operation_id)
            _take(listed, tree, clock, shown)
            is_missed = listed[0].state is State.PENDING and asked_at - began_at > _TAKEN_SECONDS
            before, hint = hint, (hint or await _hint(client, listed[0])) if is_missed else ""
        except errors.Error:
            continue  # the watch meets the same error, and tells it or ends with it
        if hint != before:
            shown.note(hint)
        taken = time.monotonic() - asked_at


async def _hint(client: "Client", operation: "Operation") -> str:
    """Say what to do about an operation that no provisioner takes."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        release = await client.releases.get(id=operation.release_id)
    except errors.NotFound:
        return ""
    if release.engine:
        return f"{release.name} keeps files on the engine {release.engine}; it waits for a provisioner there."
    start = f'"tinkwell provisioner --releases {release.namespace}"'
    return f"No provisioner takes operations of {release.namespace}; start one with {start}."


async def _read_output(client: "Client", tree: release_tree.Tree, display: "Display") -> None:
    """Show the output of the operation until it is over. If the server refuses it, the tree is shown without output."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        # The watch tells of a lost connection.
        async for line in lines(client, tree.operation_id, follow=True, on_lost=lambda: None):
            tree.add(line)
            display.change()
    except errors.NotFound:
        return  # the operation was deleted, and the watch tells that
    except errors.Error as error:
        display.note(f"The output cannot be shown: {error.message}")
