"""The commands that make a release of a chart."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli.release import begin, chart, planning
from tinkwell.cli.release.follow import summary
from tinkwell.cli.shell import output, session

if TYPE_CHECKING:
    from tinkwell.client import Client, OperationHandle

_name = click.argument("name", type=begin.ReleaseName(), metavar="NAME")


@click.command(cls=chart.Command)
@_name
@chart.options
@begin.options
@begin.atomic
@begin.history_max
@begin.description
@planning.options
@session.connected
async def install(
    client: "Client",
    name: str,
    chosen: chart.Wanted,
    wanted: begin.Wanted,
    atomic: bool,
    history_max: int | None,
    description: str,
    how: planning.How,
) -> None:
    """Install a chart as the release NAME, which must be new, or never deployed before.

    CHART is a folder, an archive, or the digest of a chart on the server. The progress is shown until the operation has
    ended, as `tinkwell release watch` shows it; the exit code is the outcome. Ctrl-C ends the display, not the
    operation.
    """
    await _carry_out(
        client,
        name,
        chosen,
        wanted,
        how,
        client.releases.install,
        atomic=atomic,
        history_max=history_max,
        description=description,
        modes={},
    )


@click.command(cls=chart.Command)
@_name
@chart.options
@click.option("--install", is_flag=True, help="Install the release if it does not exist.")
@click.option("--reset-values", is_flag=True, help="Ignore the values that were given before.")
@click.option("--reuse-values", is_flag=True, help="Keep all former values, those of the former chart included.")
@begin.options
@begin.atomic
@begin.history_max
@begin.description
@planning.options
@session.connected
async def upgrade(
    client: "Client",
    name: str,
    chosen: chart.Wanted,
    install: bool,
    reset_values: bool,
    reuse_values: bool,
    wanted: begin.Wanted,
    atomic: bool,
    history_max: int | None,
    description: str,
    how: planning.How,
) -> None:
    """Upgrade the release NAME to a chart, as its next revision.

    Values that were given before are kept, unless they are given again; the chart's own values are those of CHART.
    Parts of the release that CHART does not have are removed. Everything else is as for `tinkwell release install`.
    """
    if reset_values and reuse_values:
        raise click.UsageError("--reset-values and --reuse-values exclude each other")
    await _carry_out(
        client,
        name,
        chosen,
        wanted,
        how,
        client.releases.upgrade,
        atomic=atomic,
        history_max=history_max,
        description=description,
        modes={"reset_values": reset_values, "reuse_values": reuse_values},
        with_install=install,
    )


async def _carry_out(
    client: "Client",
    name: str,
    chosen: chart.Wanted,
    wanted: begin.Wanted,
    how: planning.How,
    call: "Callable[..., Awaitable[OperationHandle]]",
    *,
    atomic: bool,
    history_max: int | None,
    description: str,
    modes: Mapping[str, bool],
    with_install: bool = False,
) -> None:
    """Carry out an installation or an upgrade; `modes` say whether former values are kept."""
    if how.plan_id:
        how.refuse_source(is_given=not chosen.is_default or with_install or any(modes.values()))
        has_changed = await planning.apply_plan(client, name, how.plan_id, wanted)
    else:
        options = wanted.operation_options(
            atomic=atomic or None, history_max=history_max, wait=chosen.wait, strict=chosen.strict or None
        )
        about = {"namespace": wanted.namespace, "description": description, "reason": wanted.reason}
        fields: dict[str, Any] = {**about, **modes, **options}
        begun = {**fields, "install": True} if with_install else fields
        has_changed = await planning.carry_out(
            client,
            name,
            wanted,
            how,
            begin_it=lambda: chosen.begin(call, name, begun),
            plan_it=lambda: chosen.begin(client.releases.plan, name, fields),
            source=summary.Source.CHART,
        )
    if has_changed and not wanted.detach and wanted.output_format is output.Format.TABLE:
        await chart.show_notes(client, name, wanted.namespace)
