"""`tinkwell release events` and `explain`: the lifecycle events of a release, and explanations of its state."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli.release import begin
from tinkwell.cli.shell import option, output, session

if TYPE_CHECKING:
    from tinkwell.client import Client, Explanation, LifecycleRun
    from tinkwell.client.release.explanation import DependencyExplanation, ValueExplanation

_HEADER = ("EVENT", "CHART", "HANDLER", "SECONDS", "OUTCOME", "MESSAGE")
_VALUES_HEADER = ("KEY", "VALUE", "FROM", "BEFORE")
_VALUES = "values"
_HIDDEN = "•••"

_name = click.argument("name", type=begin.ReleaseName(), metavar="NAME")
_operation = click.option(
    "--operation", "operation_id", metavar="ID", help="Operation to show. [default: the last one]"
)


@click.command()
@_name
@begin.namespace
@_operation
@option.object_format
@session.connected
async def events(
    client: "Client", name: str, namespace: str, operation_id: str | None, output_format: output.Format
) -> None:
    """List the events that an operation emitted, such as pre-install, with their handlers, in order."""
    id_ = operation_id or (await client.releases.get(name, namespace=namespace)).operation_id
    found = [run async for run in client.releases.lifecycle(id_)]
    if output_format is output.Format.TABLE:
        output.table(_HEADER, (row for run in found for row in _rows(run)))
    else:
        output.objects(found, output_format)


@click.command()
@_name
@click.argument("path", default="", metavar="[PATH]")
@click.argument("key", default="", metavar="[KEY]")
@begin.namespace
@_operation
@option.object_format
@session.connected
async def explain(
    client: "Client",
    name: str,
    path: str,
    key: str,
    namespace: str,
    operation_id: str | None,
    output_format: output.Format,
) -> None:
    """Explain why a resource or a chart waits, runs or has failed, and what enabled a subchart.

    PATH is a node such as shop.bar or bar:db; without one, all unfinished nodes are explained. With the word values in
    its place, the command says where each value of the chart comes from, or the values at and below a KEY such as
    bar.image.
    """
    is_values = path == _VALUES
    if key and not is_values:
        raise click.UsageError("KEY goes with values")
    found = await client.releases.explain(
        name,
        key if is_values else path,
        namespace=namespace,
        operation_id=operation_id or "",
        with_values=is_values,
    )
    if output_format is not output.Format.TABLE:
        output.whole(found.to_json(), output_format)
    elif is_values:
        output.table(_VALUES_HEADER, map(_value_row, found.values))
        _say_left_off(found, "values")
    else:
        _say(found)


def _say(found: "Explanation") -> None:
    output.line(output.clean(found.sentence))
    for node in found.nodes:
        output.line(output.clean(node.sentence))
    for dependency in found.dependencies:
        output.line(output.clean(_dependency(dependency)))
    _say_left_off(found, "nodes")


def _say_left_off(found: "Explanation", what: str) -> None:
    if found.left_off:
        output.note(f"{found.left_off:,} more {what} are left out; name one of them.")


def _dependency(found: "DependencyExplanation") -> str:
    """Say why a subchart is enabled or not: `bar is enabled: condition bar.enabled is true (values.yaml:12)`."""
    state = "enabled" if found.is_enabled else "disabled"
    first, *others = found.sources or ("",)
    over = f", overrides {', '.join(others)}" if others else ""
    where = f" ({first}{over})" if first else ""
    edges = [f"{edge.before} from {' and '.join(edge.origins)}" for edge in found.edges]
    after = f"; comes after {', '.join(edges)}" if edges else ""
    return f"{found.path} is {state}: {found.why}{where}{after}"


def _rows(run: "LifecycleRun") -> list[tuple[str, ...]]:
    """Return a row for an event, and one for each of its handlers if there are several."""
    message, *more = run.message.splitlines() or [""]
    first = (run.event, run.chart or "-")
    last = (f"{run.seconds:.3f}", run.outcome, message)
    rest = [("", "", "", "", "", text) for text in more]
    places = [f"{handler.file}:{handler.line}" if handler.line else handler.file for handler in run.handlers]
    if len(run.handlers) < 2:
        return [(*first, *(places or ["-"]), *last), *rest]
    below = [
        ("", handler.chart, place, f"{handler.seconds:.3f}", handler.outcome, "")
        for handler, place in zip(run.handlers, places, strict=True)
    ]
    return [(*first, f"{len(places)} handlers", *last), *rest, *below]


def _value_row(found: "ValueExplanation") -> tuple[str, ...]:
    return found.key, _HIDDEN if found.is_secret else found.value, found.source, ", ".join(found.before)
