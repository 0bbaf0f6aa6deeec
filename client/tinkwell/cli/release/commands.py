"""`tinkwell release`: resources that are installed together, and all their changes."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.event import watching
from tinkwell.cli.release import begin, changing, chart, installing, planning, status, story
from tinkwell.cli.release.follow import operation as follow
from tinkwell.cli.release.follow import tree as release_tree
from tinkwell.cli.shell import command, log_line, option, output, session
from tinkwell.core.release import prerequisite
from tinkwell.core.release.kinds import ReleaseState
from tinkwell.core.release.manifest import name as manifest_name
from tinkwell.core.release.plan import Plan

if TYPE_CHECKING:
    from tinkwell.client import Client, Release, Revision

_HEADER = ("NAMESPACE", "NAME", "STATE", "REVISION", "CHART", "UPDATED", "DESCRIPTION")
_HISTORY_HEADER = ("REVISION", "STATE", "CREATED", "ROLLBACK OF", "OPERATION", "DESCRIPTION")
_PLAN_HEADER = ("BATCH", "RESOURCE", "AFTER")

_name = click.argument("name", type=begin.ReleaseName(), metavar="NAME")


class Part(StrEnum):
    """The parts of a revision that `release get` prints."""

    MANIFEST = "manifest"
    VALUES = "values"
    NOTES = "notes"
    VARIABLES = "variables"
    FILES = "files"
    PLAN = "plan"
    OUTPUTS = "outputs"
    ALL = "all"


@click.group(cls=command.Group)
def release() -> None:
    """Releases: resources that are installed together, in order."""


for each in (
    *(installing.install, installing.upgrade),
    *(changing.apply, changing.rollback, changing.uninstall, changing.resume, changing.test, changing.cancel),
    *(story.events, story.explain),
    *(planning.plan, planning.drift),
):
    release.add_command(each)


@release.command("status")
@_name
@begin.namespace
@option.object_format
@session.connected
async def status_(client: "Client", name: str, namespace: str, output_format: output.Format) -> None:
    """Show a release: its last operation, and the state of each resource."""
    found = await client.releases.get(name, namespace=namespace)
    tree = release_tree.Tree(found.operation_id)
    operation = await client.releases.operation(found.operation_id)
    tree.replace(operation, [node async for node in client.releases.nodes(operation.id)])
    if output_format is output.Format.TABLE:
        status.show(found, tree)
    else:
        output.whole({"release": found.to_json(), **follow.document(tree)}, output_format)


@release.command()
@_name
@begin.namespace
@option.object_format
@session.connected
async def history(client: "Client", name: str, namespace: str, output_format: output.Format) -> None:
    """List the revisions of a release, newest first."""
    found = [revision async for revision in client.releases.history(name, namespace=namespace)]
    if output_format is output.Format.TABLE:
        output.table(_HISTORY_HEADER, map(_revision_row, found))
    else:
        output.objects(found, output_format)


@release.command()
@click.argument("part", type=click.Choice([each.value for each in Part]), metavar=f"{'|'.join(Part)}")
@_name
@begin.namespace
@click.option(
    "--revision", type=click.IntRange(min=1), metavar="N", help="Revision to print. [default: the last deployed]"
)
@click.option("--all", "with_defaults", is_flag=True, help="For values: add the chart's own values.")
@option.object_format
@session.connected
async def get(
    client: "Client",
    part: str,
    name: str,
    namespace: str,
    revision: int | None,
    with_defaults: bool,
    output_format: output.Format,
) -> None:
    """Print the input or the result of a revision, as YAML by default.

    values are the input of a chart, files and variables the input of a release without a chart. manifest is the
    evaluated result, notes are the chart's notes for its users, and plan is the order of work. outputs are the outputs
    of the release, as they were when all of it was ready.
    """
    if with_defaults and part != Part.VALUES:
        raise click.UsageError("--all is for values")
    if part == Part.OUTPUTS:
        outputs = await client.releases.outputs(name, revision or 0, namespace=namespace)
        output.whole(outputs, output.Format.YAML if output_format is output.Format.TABLE else output_format)
        return
    found = await client.releases.revision(name, revision or 0, namespace=namespace, with_all_values=with_defaults)
    match Part(part):
        case Part.PLAN if output_format is output.Format.TABLE:
            output.table(_PLAN_HEADER, plan_rows(found.plan))
        case Part.NOTES if output_format is output.Format.TABLE:
            output.line(chart.notes(found))
        case wanted:
            is_table = output_format is output.Format.TABLE
            output.whole(_part(found, wanted), output.Format.YAML if is_table else output_format)


@release.command("list")
@click.option("-n", "--namespace", type=begin.ReleaseName(), metavar="NAME", help="Only this namespace.")
@click.option(
    "--state",
    "states",
    type=option.Member(ReleaseState),
    multiple=True,
    help="Only releases in this state. Repeatable.",
)
@option.object_format
@session.connected
async def list_(
    client: "Client", namespace: str | None, states: tuple[ReleaseState, ...], output_format: output.Format
) -> None:
    """List releases by namespace and name."""
    found = [item async for item in client.releases.list(namespace or "", states)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, map(_row, found))
    else:
        output.objects(found, output_format)


@release.command()
@_name
@begin.namespace
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Print new lines until the operation has ended.")
@click.option("--resource", "path", default="", metavar="NAME", help="Only the output of this resource.")
@click.option("--operation", "operation_id", metavar="ID", help="Operation to show. [default: the last one]")
@click.option("--no-prefix", is_flag=True, help="Print the output alone, without the resource before each line.")
@option.raw
@option.stream_format
@session.streaming
async def logs(
    client: "Client",
    name: str,
    namespace: str,
    is_followed: bool,
    path: str,
    operation_id: str | None,
    no_prefix: bool,
    is_raw: bool,
    output_format: output.Format,
) -> None:
    """Show the output of the images of a release's resources.

    On a terminal it is shown without colours, and control characters are shown as escapes, such as \\x1b.
    """
    id_ = operation_id or (await begin.newest(client, name, namespace)).id
    paths = [node.path async for node in client.releases.nodes(id_)]
    if path and paths and path not in paths:
        raise failure.Failure(f"operation {id_} has no resource {path}; it has {', '.join(paths)}")
    prefix, paper = log_line.Prefix(paths), log_line.Paper(is_raw=is_raw, is_mixed=True)
    async for line in follow.lines(client, id_, follow=is_followed, path=path):
        if output_format is not output.Format.TABLE:
            output.item(line.to_json(), output_format)
        else:
            place = line.step_id, line.attempt, line.number
            prefixed = "" if no_prefix else prefix.of(line.path, line.attempt)
            paper.write(line.text, prefix=prefixed, place=place, is_open=line.is_open)
    paper.end()


@release.command()
@click.argument("name", type=begin.ReleaseName(), required=False, metavar="[NAME]")
@click.option("-n", "--namespace", type=begin.ReleaseName(), metavar="NAME", help="Namespace. [default: default]")
@watching.options
def watch(name: str | None, namespace: str | None, wanted: watching.Wanted) -> None:
    """Follow a release until its operation has ended, or show the events of all releases as they happen.

    With a NAME it shows resources, with their times, output and what they wait for, and the events and output of
    scripts: as a tree on a terminal, elsewhere as a line for each change. It fails unless the operation succeeds.

    Without a NAME, and with any of the options, it shows the events of releases, operations, nodes, steps and their
    lifecycle, and begins and ends as `tinkwell events watch` does.
    """
    if namespace is not None and name is None:
        raise click.UsageError("--namespace goes with a NAME; without a NAME, the events of all namespaces are shown")
    if name is not None and wanted.is_default:
        _watch_one(name, namespace or "")
    else:
        _watch_events(name, namespace or "", wanted)


@session.connected
async def _watch_one(client: "Client", name: str, namespace: str) -> None:
    operation = await client.releases.operation((await begin.newest(client, name, namespace)).id)
    await follow.follow(client, operation, chosen=output.Format.TABLE, is_begun_here=False)


@session.streaming
async def _watch_events(client: "Client", name: str | None, namespace: str, wanted: watching.Wanted) -> None:
    release_id = (await client.releases.get(name, namespace=namespace)).id if name is not None else None
    await watching.follow(client.releases.watch, wanted, resource_id=release_id)


def _part(found: "Revision", part: Part) -> object:
    """Return a part of a revision as JSON; `part` is not OUTPUTS."""
    source = found.source or {}
    match part:
        case Part.MANIFEST:
            return found.manifest or {}
        case Part.VALUES:
            return (source.get("user_values") if found.all_values is None else found.all_values) or {}
        case Part.NOTES:
            return chart.notes(found)
        case Part.VARIABLES:
            return _variables(source)
        case Part.FILES:
            return source.get("files", {})
        case Part.PLAN:
            return found.plan or {}
        case _:
            return found.to_json()


def _variables(source: dict[str, Any]) -> dict[str, Any]:
    """Return the variables, with the variable files if there are some."""
    variables: dict[str, Any] = source.get("variables", {})
    files = source.get("variable_files")
    return {"variables": variables, "variable_files": files} if files else variables


def _row(item: "Release") -> tuple[str, ...]:
    revision = str(item.revision) if item.revision else ""
    made_of = f"{item.chart_name}-{item.chart_version}" if item.chart_name else ""
    updated = output.moment(item.updated_at)
    return item.namespace, item.name, item.state, revision, made_of, updated, item.description


def _revision_row(item: "Revision") -> tuple[str, ...]:
    rollback_of = str(item.rollback_of) if item.rollback_of else ""
    created = output.moment(item.created_at)
    return str(item.revision), item.state, created, rollback_of, item.operation_id, item.description


def plan_rows(plan: dict[str, Any] | None) -> list[tuple[str, ...]]:
    """Return a row for each node except gates and barriers, with the nodes after which it starts.

    A node that starts together with its charts comes after the nodes that these charts come after.
    """
    nodes = Plan.load(json.dumps(plan)).nodes if plan else ()
    named = prerequisite.named(nodes)
    rows: list[tuple[str, ...]] = []
    for node in nodes:
        if not node.is_real:
            continue
        after, outer = named[node.path], manifest_name.parent_chart(node.path)
        while not after and outer:
            after, outer = named.get(outer, ()), manifest_name.parent_chart(outer)
        rows.append((str(node.batch), node.path, ", ".join(after)))
    return rows
