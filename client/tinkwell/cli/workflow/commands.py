"""`tinkwell workflow`: run templates on machines, and follow them."""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.event import attempt, watching
from tinkwell.cli.event import line as event_line
from tinkwell.cli.shell import command, duration, log_line, option, output, session, several
from tinkwell.cli.workflow import follow as workflow_following
from tinkwell.cli.workflow import outline
from tinkwell.cli.workflow import tree as workflow_tree
from tinkwell.core.event.kinds import State
from tinkwell.core.value import document

if TYPE_CHECKING:
    from tinkwell.client import Action, ActionStatus, Client, Workflow, WorkflowContext

_HEADER = ("ID", "TEMPLATE", "STATE", "ACTIONS", "CREATED")
_JOURNAL_HEADER = ("TIME", "TASK", "ACTION", "WORKER", "STATE", "ATTEMPT", "SECONDS", "EXIT", "MESSAGE")


@click.group(cls=command.Group)
def workflow() -> None:
    """Workflows: runs of templates on machines."""


@workflow.command()
@click.option("-t", "--template", required=True, metavar="ID|NAME", help="Template to run.")
@click.option(
    "-r",
    "--hardware",
    type=option.JsonObject(),
    help='Machines by their names in the template, such as {"device_1": "52:54:00:10:00:03"}.',
)
@click.option(
    "--device",
    "devices",
    type=option.Assignment(),
    multiple=True,
    help="A machine by its name in the template, such as device_1=52:54:00:10:00:03. Repeatable.",
)
@click.option("--with-units", is_flag=True, help="Allow machines with units; the units get no events meanwhile.")
@click.option(
    "--wait", "is_awaited", is_flag=True, help="Wait until the workflow is finished; fail unless it succeeds."
)
@option.object_format
@session.connected
async def create(
    client: "Client",
    template: str,
    hardware: document.JsonObject | None,
    devices: tuple[tuple[str, str], ...],
    with_units: bool,
    is_awaited: bool,
    output_format: output.Format,
) -> None:
    """Start a workflow, and print its id. Machines are given by --hardware, by --device, or by both.

    With --wait, its progress is shown on standard error, as `tinkwell workflow watch ID` shows it. Ctrl-C ends the
    waiting, not the workflow.
    """
    text = document.dump_json(_device_map(hardware, devices))
    created = await client.workflows.create(template, text, with_units=with_units)
    if output_format is output.Format.TABLE:
        output.line(created.id)
    else:
        output.whole(created.to_json(), output_format)
    if is_awaited:
        await workflow_following.wait(client, created.id)


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@click.option("--data", "only_data", is_flag=True, help="Print the rendered template, and nothing else.")
@option.object_format
@session.connected
async def get(client: "Client", workflow_id: str, only_data: bool, output_format: output.Format) -> None:
    """Show a workflow."""
    found = await client.workflows.get(workflow_id)
    if only_data:
        output.text((found.data or "").removesuffix("\n"))
    elif output_format is output.Format.TABLE:
        output.fields(_fields(found))
    else:
        output.whole(found.to_json(), output_format)


@workflow.command("list")
@click.option(
    "--state", "states", type=option.Member(State), multiple=True, help="Only workflows in this state. Repeatable."
)
@option.object_format
@session.connected
async def list_(client: "Client", states: tuple[State, ...], output_format: output.Format) -> None:
    """List workflows, oldest first, without their data."""
    found = [item async for item in client.workflows.list(states)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@workflow.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@session.connected
async def delete(client: "Client", ids: tuple[str, ...]) -> None:
    """Delete workflows; unfinished ones are cancelled first.

    Those that do not exist are reported; the others are deleted.
    """
    await several.delete(ids, client.workflows.delete)


@workflow.command()
@click.option(
    "--older-than",
    type=duration.Duration(),
    metavar="DURATION",
    help="Time since they ended or were deleted, such as 30d.  [default: as the server's workflow_retention_seconds]",
)
@click.option("--yes", "is_wanted", is_flag=True, help="Delete them; without this option, they are only counted.")
@option.object_format
@session.connected
async def prune(client: "Client", older_than: float | None, is_wanted: bool, output_format: output.Format) -> None:
    """Delete old workflows, machines and templates for good, or count them.

    These are workflows that were finished or deleted longer ago than --older-than, with all that belongs to them, and
    machines and templates that were deleted longer ago and that nothing refers to. Servers also do it by themselves.
    The command may be interrupted and run again.
    """
    pruned = dataclasses.asdict(await client.workflows.prune(older_than, apply=is_wanted))
    if output_format is not output.Format.TABLE:
        output.whole({**pruned, "is_applied": is_wanted}, output_format)
        return
    output.table(("KIND", "COUNT"), [(name.replace("_", " "), f"{count:,}") for name, count in pruned.items()])
    if not is_wanted:
        output.note("nothing was deleted; --yes does it")


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@click.option("--reason", default="", help="Reason, which is kept with the workflow.")
@session.connected
async def cancel(client: "Client", workflow_id: str, reason: str) -> None:
    """End an unfinished workflow, and stop its running action."""
    change = await client.workflows.cancel(workflow_id, reason)
    output.line(
        f"{workflow_id}  cancelled  revision {change.revision}"
        if change.revision
        else f"{workflow_id}  was cancelled before"
    )


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@option.object_format
@session.connected
async def state(client: "Client", workflow_id: str, output_format: output.Format) -> None:
    """Show the progress of a workflow, action by action."""
    context = await client.workflows.context(workflow_id)
    actions = await client.workflows.actions(workflow_id)
    if output_format is not output.Format.TABLE:
        output.whole({**context.to_json(), "actions": [action.to_json() for action in actions]}, output_format)
        return
    output.fields(_progress(context))
    output.line("")
    _show_actions(actions)


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@option.stream_format
@session.connected
async def events(client: "Client", workflow_id: str, output_format: output.Format) -> None:
    """Show the reports about a workflow's actions, in order; also for a deleted workflow."""
    found = [entry async for entry in client.workflows.events(workflow_id)]
    match output_format:
        case output.Format.TABLE:
            output.table(_JOURNAL_HEADER, map(_journal_row, found))
        case output.Format.JSONL:
            for entry in found:
                output.item(entry.to_json(), output_format)
        case _:
            output.objects(found, output_format)


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Print new lines until the workflow is finished.")
@click.option("--no-prefix", is_flag=True, help="Print the output alone, without the action before each line.")
@option.raw
@option.stream_format
@session.streaming
async def logs(
    client: "Client", workflow_id: str, follow: bool, no_prefix: bool, is_raw: bool, output_format: output.Format
) -> None:
    """Show the output of a workflow's actions.

    On a terminal it is shown without colours, and control characters are shown as escapes, such as \\x1b.
    """
    actions = await client.workflows.actions(workflow_id)
    names = {action.id: workflow_tree.title(action) for action in actions}
    prefix, paper = log_line.Prefix(names.values()), log_line.Paper(is_raw=is_raw, is_mixed=False)
    async for line in workflow_following.lines(client, workflow_id, follow=follow):
        if output_format is not output.Format.TABLE:
            output.item(line.to_json(), output_format)
        else:
            name = names.get(line.action_id) or f"{line.task_name}/{line.action_name}"
            place = line.action_id, line.attempt, line.number
            prefixed = "" if no_prefix else prefix.of(name, line.attempt)
            paper.write(line.text, prefix=prefixed, place=place, is_open=line.is_open)
    paper.end()


@workflow.command()
@click.argument("workflow_id", metavar="ID")
@click.option(
    "--version", type=click.IntRange(min=0), default=0, metavar="N", help="Version to print; 0 is the latest."
)
@click.option("--metadata", "only_metadata", is_flag=True, help="Print the metadata of the document.")
@click.option("--latest-version", "only_version", is_flag=True, help="Print the number of the latest version.")
@option.object_format
@session.connected
async def data(
    client: "Client",
    workflow_id: str,
    version: int,
    only_metadata: bool,
    only_version: bool,
    output_format: output.Format,
) -> None:
    """Print the JSON document that a workflow's workers share, as it is stored; -o json indents it."""
    if only_version:
        output.line(str(await client.workflows.data_version(workflow_id)))
        return
    read = client.workflows.metadata if only_metadata else client.workflows.data
    found = await read(workflow_id, version)
    if not found.data:
        what = "metadata" if only_metadata else "data"
        raise failure.Failure(f"workflow {workflow_id} has no {what}{f' of version {version}' if version else ''}")
    text = found.data.decode()
    if output_format is output.Format.TABLE:
        output.text(text)
    else:
        output.whole(json.loads(text), output_format)


@workflow.command()
@click.argument("workflow_id", required=False, metavar="[ID]")
@watching.options
def watch(workflow_id: str | None, wanted: watching.Wanted) -> None:
    """Follow a workflow until it is finished, or show the events of all workflows as they happen.

    With an ID it shows tasks and actions, with their times, output and what they wait for: as a tree on a terminal,
    elsewhere as a line for each change. It fails unless the workflow succeeds.

    Without an ID, and with any of the options, it shows the events of workflows and their actions, and begins and ends
    as `tinkwell events watch` does.
    """
    if workflow_id is not None and wanted.is_default:
        _watch_one(workflow_id)
    else:
        _watch_events(workflow_id, wanted)


@session.connected
async def _watch_one(client: "Client", workflow_id: str) -> None:
    await workflow_following.watch(client, workflow_id)


@session.streaming
async def _watch_events(client: "Client", workflow_id: str | None, wanted: watching.Wanted) -> None:
    await watching.follow(client.workflows.watch, wanted, resource_id=workflow_id)


def _device_map(hardware: document.JsonObject | None, devices: tuple[tuple[str, str], ...]) -> document.JsonObject:
    result = dict(hardware or {})
    for name, address in devices:
        if name in result:
            raise click.UsageError(f"the device {name} is given twice")
        result[name] = address
    return result


def _fields(item: "Workflow") -> list[tuple[str, str]]:
    return [
        ("ID", item.id),
        ("TEMPLATE", f"{item.template_name} ({item.template_id})"),
        ("STATE", item.state),
        ("ACTIONS", outline.progress_text(item.completed_actions, item.total_actions)),
        ("CAUSE", event_line.format_cause(item.cause or {})),
        ("RECOVERS", item.recovers),
        ("ON TIMEOUT", item.on_timeout),
        ("ON FAILURE", item.on_failure),
        ("DEVICES", event_line.format_pairs(item.hardware)),
        ("TIMEOUT", f"{item.global_timeout_seconds} s" if item.global_timeout_seconds else ""),
        ("CREATED", output.moment(item.created_at)),
        ("STARTED", output.moment(item.started_at)),
        ("FINISHED", output.moment(item.finished_at)),
        ("VERSION", str(item.version)),
    ]


def _row(item: "Workflow") -> tuple[str, ...]:
    actions = f"{item.completed_actions}/{item.total_actions}"
    return item.id, item.template_name, item.state, actions, output.moment(item.created_at)


def _progress(context: "WorkflowContext") -> list[tuple[str, str]]:
    current = f"{context.current_task}/{context.current_action}" if context.current_action else ""
    return [
        ("WORKFLOW", context.workflow_id),
        ("STATE", context.workflow_state),
        ("ACTIONS", outline.progress_text(context.completed_actions, context.total_number_of_actions)),
        ("CURRENT", f"{current} {context.current_action_state or ''}".strip()),
        ("WORKER", context.current_worker),
        *_waits_for(context),
    ]


def _waits_for(context: "WorkflowContext") -> list[tuple[str, str]]:
    if not context.waits_for_workflow:
        return []
    return [("WAITS FOR", f"workflow {context.waits_for_workflow} on machine {context.waits_for_worker}")]


def _show_actions(actions: "Sequence[Action]") -> None:
    """Write the actions; their worker only where there is more than one."""
    workers = {action.worker_id for action in actions}
    columns: dict[str, Callable[[Action], str]] = {
        "INDEX": lambda action: str(action.index),
        "TASK": lambda action: action.task_name,
        "ACTION": lambda action: action.name,
        "WORKER": lambda action: action.worker_id,
        "STATE": lambda action: action.state,
        "ATTEMPT": lambda action: attempt.ordinal(action).removeprefix("attempt "),
        "SECONDS": _seconds,
        "EXIT": lambda action: _number(action.exit_code),
        "MESSAGE": _message,
    }
    if len(workers) < 2:
        del columns["WORKER"]
    output.table(list(columns), [[cell(action) for cell in columns.values()] for action in actions])


def _seconds(action: "Action") -> str:
    if action.finished_at is None or action.started_at is None:
        return ""
    return f"{(action.finished_at - action.started_at).total_seconds():.1f}"


def _message(action: "Action") -> str:
    pause = f"retries in {duration.show(math.ceil(action.wait_seconds))}" if action.wait_seconds else ""
    return ": ".join(part for part in (pause, action.message) if part)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _journal_row(entry: "ActionStatus") -> tuple[str, ...]:
    return (
        output.moment(entry.created_at),
        entry.task_name,
        entry.action_name,
        entry.worker_id,
        entry.state,
        str(entry.attempt or ""),
        f"{entry.seconds:.1f}" if entry.seconds else "",
        _number(entry.exit_code),
        entry.message,
    )
