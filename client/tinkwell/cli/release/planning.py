"""Makes plans, shows them, asks whether they are to be applied, and applies them."""

import dataclasses
import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from tinkwell.cli import failure
from tinkwell.cli.release import begin, chart, preview, source
from tinkwell.cli.release.follow import operation as follow
from tinkwell.cli.release.follow import summary, tree
from tinkwell.cli.shell import command, output, session
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from tinkwell.client import Client, Operation, OperationHandle
    from tinkwell.core.release.preview.model import Preview

_Begin = Callable[[], Awaitable["OperationHandle"]]

# The exit code for changes, with --detailed-exitcode.
CHANGES = 2
# If no provisioner has taken the plan after this time, the user is told.
_TAKEN_SECONDS = 5.0
# How long an interrupted command waits for the id of the plan that it has requested, to cancel that plan.
_BEGUN_SECONDS = 5.0
_ARCHIVES = (".tgz", ".tar.gz")
_name = click.argument("name", type=begin.ReleaseName(), metavar="NAME")
_detailed = click.option(
    "--detailed-exitcode", is_flag=True, help=f"Exit with {CHANGES} if there is something to change."
)

_OPTIONS = (
    click.option("--dry-run", is_flag=True, help="Only show what would be done, as `tinkwell release plan` does."),
    click.option("--confirm", is_flag=True, help="Show what would be done, ask, and then do exactly that."),
    click.option(
        "--plan",
        "plan_id",
        default="",
        metavar="ID",
        help="Apply this plan, with the source, values and variables that it was made from.",
    ),
)


@dataclass(frozen=True, slots=True)
class _Words:
    """How the last sentence begins: `incomplete` if resources could not be compared, `nothing` without a plan."""

    incomplete: str
    nothing: str


_OF_PLAN = _Words("this plan cannot be applied", "no plan for {} was made")
_OF_DRIFT = _Words("not all resources could be compared", "the drift of {} is unknown")


@dataclass(frozen=True, slots=True)
class How:
    """The values of the options: whether a plan is made before, or instead of, the operation."""

    dry_run: bool
    confirm: bool
    plan_id: str

    def __post_init__(self) -> None:
        """Refuse options that exclude each other."""
        if sum((self.dry_run, self.confirm, bool(self.plan_id))) > 1:
            raise click.UsageError("--dry-run, --confirm and --plan exclude each other")

    def refuse_source(self, *, is_given: bool) -> None:
        """Refuse a source beside `--plan`, because the plan has its own."""
        if is_given:
            raise click.UsageError("a plan has its source, values and variables; leave them out beside --plan")


def options(command_: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, which is given their values as `how`."""

    @functools.wraps(command_)
    def with_how(*args: Any, **kwargs: Any) -> object:
        values = {each.name: kwargs.pop(each.name) for each in dataclasses.fields(How)}
        return command_(*args, how=How(**values), **kwargs)

    result: Callable[..., object] = with_how
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


async def carry_out(
    client: "Client",
    name: str,
    wanted: begin.Wanted,
    how: How,
    *,
    begin_it: _Begin,
    plan_it: _Begin,
    source: summary.Source,
) -> bool:
    """Begin an operation and follow it, or make its plan first. Returns whether the release may have changed.

    Raises `Failure` if the operation does not succeed, or if the user does not want it after the plan was shown.
    """
    if not how.dry_run and not how.confirm:
        await begin.carry_out(client, wanted, begin_it, source)
        return True
    if how.confirm:
        _check_terminal(wanted)
    operation, found = await _make(client, wanted, plan_it, _OF_PLAN)
    _show(operation, found, output.Format.TABLE if how.confirm else wanted.output_format)
    await _check(client, operation, _OF_PLAN)
    if how.dry_run or not _is_confirmed(found):
        return False
    await apply_plan(client, name, operation.id, wanted)
    return True


async def apply_plan(client: "Client", name: str, plan_id: str, wanted: begin.Wanted) -> bool:
    """Apply a plan and follow the operation. Raises `Failure` if the plan is another release's, or does not succeed."""
    plan = await client.releases.operation(plan_id)
    if (plan.release_name, plan.namespace) != (name, wanted.namespace):
        whose = plan.release_name if plan.namespace == wanted.namespace else f"{plan.namespace}/{plan.release_name}"
        raise failure.Failure(f"operation {plan_id} belongs to {whose}, not to {name}")
    await begin.carry_out(client, wanted, lambda: client.releases.apply_plan(plan_id, reason=wanted.reason))
    return True


@click.command("plan", cls=chart.Command)
@_name
@click.argument("sources", nargs=-1, type=click.Path(), metavar="CHART|FILE|-...")
@chart.flags
@source.options
@click.option("--reset-values", is_flag=True, help="Ignore the values that were given before.")
@click.option("--reuse-values", is_flag=True, help="Keep all former values, those of the former chart included.")
@begin.options
@begin.atomic
@begin.history_max
@begin.description
@_detailed
@session.connected
async def plan(
    client: "Client",
    name: str,
    sources: tuple[str, ...],
    chosen: chart.Wanted,
    variables: source.Wanted,
    reset_values: bool,
    reuse_values: bool,
    wanted: begin.Wanted,
    atomic: bool,
    history_max: int | None,
    description: str,
    detailed_exitcode: bool,
) -> None:
    """Show what a chart or manifests would change in the release NAME, without changing it.

    Images are only asked for the state of resources. Each line is a resource: = stays, ~ is changed, + is created,
    - is removed, ? is decided when it runs, ! is left in place or would fail, * is a hook that runs. The options are
    those of `install`, `upgrade` and `apply`. They hold for the operation that applies the plan, which `--plan ID` of
    these commands begins.
    """
    if reset_values and reuse_values:
        raise click.UsageError("--reset-values and --reuse-values exclude each other")
    modes = {"reset_values": reset_values, "reuse_values": reuse_values}
    begun = wanted.operation_options(
        atomic=atomic or None, history_max=history_max, wait=chosen.wait, strict=chosen.strict or None
    )
    fields: dict[str, Any] = {"namespace": wanted.namespace, "description": description, "reason": wanted.reason}
    if _is_chart(sources):
        if not variables.is_default:
            raise click.UsageError("--var and its like are for manifests; a chart takes --set and -f")
        named = dataclasses.replace(chosen, chart=sources[0])
        plan_it = functools.partial(named.begin, client.releases.plan, name, {**fields, **modes, **begun})
    else:
        if not chosen.is_default or any(modes.values()):
            raise click.UsageError("--set, -f, --wait and their like are for charts; manifests take --var")
        given = source.Given.read(sources, variables)
        plan_it = functools.partial(given.begin, client.releases.plan, name, {**fields, **begun})
    await _plan(client, wanted, plan_it, detailed_exitcode=detailed_exitcode, words=_OF_PLAN)


@click.command(cls=command.Command)
@_name
@begin.options
@_detailed
@session.connected
async def drift(client: "Client", name: str, wanted: begin.Wanted, detailed_exitcode: bool) -> None:
    """Show how resources differ from what the release NAME installed, without changing them.

    Differences that a resource's manifest says to `ignore` are left out. Lines and exit codes are those of `plan`.
    """
    begun = wanted.operation_options()

    def plan_it() -> "Awaitable[OperationHandle]":
        return client.releases.drift(name, namespace=wanted.namespace, reason=wanted.reason, **begun)

    await _plan(client, wanted, plan_it, detailed_exitcode=detailed_exitcode, words=_OF_DRIFT)


async def _plan(
    client: "Client", wanted: begin.Wanted, plan_it: _Begin, *, detailed_exitcode: bool, words: _Words
) -> None:
    from tinkwell.core.release.preview import summary as preview_summary

    if wanted.detach:
        await begin.carry_out(client, wanted, plan_it)
        return
    operation, found = await _make(client, wanted, plan_it, words)
    _show(operation, found, wanted.output_format)
    await _check(client, operation, words)
    if detailed_exitcode and preview_summary.has_changes(found):
        raise Exit(CHANGES)


async def _make(client: "Client", wanted: begin.Wanted, plan_it: _Begin, words: _Words) -> "tuple[Operation, Preview]":
    """Make a plan and wait for it. Raises `Failure` if there is no result. Ctrl-C also cancels the plan."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.core.release.preview.model import Preview

    handle = await begin.start(client, wanted, lambda: _begin(client, plan_it))
    try:
        operation = await _wait(client, handle.id)
    except asyncio.CancelledError:
        await client.releases.cancel(handle.id, now=True)
        raise
    if operation.result is None:
        from tinkwell.client.release import failure as failures  # gRPC costs start-up time, see main

        nothing = words.nothing.format(operation.release_name)
        raise failure.Failure(f"{nothing}: {failures.reason(operation) or operation.state}")
    return operation, Preview.from_json(operation.result)


async def _begin(client: "Client", plan_it: _Begin) -> "OperationHandle":
    """Begin a plan. Ctrl-C during the request also cancels the plan, as soon as its id is known."""
    import asyncio  # it costs start-up time, see main

    begun = asyncio.ensure_future(plan_it())
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:
        await asyncio.wait([begun], timeout=_BEGUN_SECONDS)
        if begun.cancel() or begun.cancelled() or begun.exception() is not None:
            raise
        await client.releases.cancel(begun.result().id, now=True)
        raise


async def _wait(client: "Client", operation_id: str) -> "Operation":
    import asyncio  # it costs start-up time, see main

    waiting = asyncio.ensure_future(client.releases.wait(operation_id))
    try:
        await asyncio.wait([waiting], timeout=_TAKEN_SECONDS)
        if not waiting.done():
            seen = await client.releases.operation(operation_id)
            if seen.state is State.PENDING:
                output.note(f"no provisioner has taken it yet; one must take operations of {seen.namespace}")
        await waiting
    finally:
        waiting.cancel()
    return await client.releases.operation(operation_id)


def _show(operation: "Operation", found: "Preview", chosen: output.Format) -> None:
    from tinkwell.core.release.preview import summary as preview_summary

    if chosen is output.Format.TABLE:
        can_apply = operation.state is State.SUCCEEDED and found.drift is None
        plan_id = operation.id if can_apply else ""
        for line in preview.lines(found, release=operation.release_name, plan_id=plan_id):
            output.line(line)
        return
    told = {"operation_id": operation.id, "release_name": operation.release_name, "namespace": operation.namespace}
    output.whole({**told, "summary": preview_summary.sentence(found), **(operation.result or {})}, chosen)


async def _check(client: "Client", operation: "Operation", words: _Words) -> None:
    """Raise `Failure` if resources could not be compared, after printing the last output of what failed."""
    if operation.state is State.SUCCEEDED:
        return
    from tinkwell.client.release import failure as failures  # gRPC costs start-up time, see main

    looked = tree.Tree(operation.id)
    looked.replace(operation, [node async for node in client.releases.nodes(operation.id)])
    await follow.write_tail(client, looked, sys.stderr)
    node = failures.first_failed(looked.nodes)
    why = failures.of_node(node) if node is not None else failures.reason(operation)
    raise failure.Failure(output.clean(f"{words.incomplete}: {why or operation.state}"))


def _check_terminal(wanted: begin.Wanted) -> None:
    """Refuse `--confirm` if nobody can answer."""
    if wanted.detach or wanted.output_format is not output.Format.TABLE:
        raise click.UsageError("--confirm shows a plan and asks; leave out --detach and -o")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        way = "make a plan by `tinkwell release plan`, and apply it by --plan ID"
        raise click.UsageError(f"--confirm asks, and there is no terminal; {way}")


def _is_confirmed(found: "Preview") -> bool:
    """Ask whether a plan is to be applied, if it changes anything. Raises `Failure` for a no."""
    from tinkwell.core.release.preview import summary as preview_summary

    if failing := preview_summary.count_failing(found):
        raise failure.Failure(f"not applied: {failing} of its resources would fail")
    if not preview_summary.has_changes(found):
        return False
    if not click.confirm("Apply this plan?", default=False):
        raise failure.Failure("not applied")
    return True


def _is_chart(sources: tuple[str, ...]) -> bool:
    """Tell whether a chart is named, or files of manifests. Raises `click.UsageError` for none, or for both."""
    from tinkwell.core.release.chart.file import archive

    if not sources:
        way = "`tinkwell release drift NAME` looks at what is installed"
        raise click.UsageError(f"Missing argument 'CHART|FILE|-...'; {way}.")
    charts = [
        each
        for each in sources
        if each.startswith(archive.DIGEST) or each.endswith(_ARCHIVES) or Path(each, archive.METADATA).is_file()
    ]
    if charts and len(sources) > 1:
        raise click.UsageError(f"{charts[0]} is a chart; name nothing beside it; subcharts go into its folder charts/")
    return bool(charts)
