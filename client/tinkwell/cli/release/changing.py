"""The commands that change a release; each begins an operation and follows it, or ends one."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.release import begin, planning, source
from tinkwell.cli.release.follow import summary
from tinkwell.cli.shell import command, output, session
from tinkwell.core.event.kinds import State

if TYPE_CHECKING:
    from tinkwell.client import Client

_name = click.argument("name", type=begin.ReleaseName(), metavar="NAME")


@click.command(cls=command.Command)
@_name
@click.argument("files", nargs=-1, type=click.Path(), metavar="FILE|-...")
@source.options
@begin.options
@begin.atomic
@begin.history_max
@begin.description
@planning.options
@session.connected
async def apply(
    client: "Client",
    name: str,
    files: tuple[str, ...],
    variables: source.Wanted,
    wanted: begin.Wanted,
    atomic: bool,
    history_max: int | None,
    description: str,
    how: planning.How,
) -> None:
    """Apply manifests as the release NAME: a new release, or the next revision of an existing one.

    FILEs are YAML files or folders, and are merged. Resources of the release that are in no file are removed. The
    progress is shown until the operation has ended, as `tinkwell release watch` shows it; the exit code is the outcome.
    Ctrl-C ends the display, not the operation.
    """
    if how.plan_id:
        how.refuse_source(is_given=bool(files) or not variables.is_default)
        await planning.apply_plan(client, name, how.plan_id, wanted)
        return
    if not files:
        raise click.UsageError("Missing argument 'FILE|-...'.")
    given = source.Given.read(files, variables)
    options = wanted.operation_options(atomic=atomic or None, history_max=history_max)
    fields = {"namespace": wanted.namespace, "description": description, "reason": wanted.reason, **options}
    await planning.carry_out(
        client,
        name,
        wanted,
        how,
        begin_it=lambda: given.begin(client.releases.apply, name, fields),
        plan_it=lambda: given.begin(client.releases.plan, name, fields),
        source=summary.Source.FILES,
    )


@click.command(cls=command.Command)
@_name
@click.argument("revision", type=click.IntRange(min=1), required=False, metavar="[REVISION]")
@begin.options
@begin.atomic
@begin.history_max
@begin.description
@session.connected
async def rollback(
    client: "Client",
    name: str,
    revision: int | None,
    wanted: begin.Wanted,
    atomic: bool,
    history_max: int | None,
    description: str,
) -> None:
    """Return to a former revision; without REVISION, to the one that was deployed before the present one.

    `tinkwell release history NAME` lists revisions. The stored manifest is used; nothing is evaluated again.
    """
    options = wanted.operation_options(atomic=atomic or None, history_max=history_max)
    await begin.carry_out(
        client,
        wanted,
        lambda: client.releases.rollback(
            name,
            revision or 0,
            namespace=wanted.namespace,
            description=description,
            reason=wanted.reason,
            **options,
        ),
    )


@click.command(cls=command.Command)
@_name
@begin.options
@session.connected
async def uninstall(client: "Client", name: str, wanted: begin.Wanted) -> None:
    """Remove a release: its resources in reverse order. Then its name is free.

    Resources stay if they existed before the release, if they are marked to be kept, or if their image cannot remove
    them.
    """
    options = wanted.operation_options()
    await begin.carry_out(
        client,
        wanted,
        lambda: client.releases.uninstall(name, namespace=wanted.namespace, reason=wanted.reason, **options),
    )


@click.command(cls=command.Command)
@_name
@begin.options
@click.option("--accept-lost", is_flag=True, help="Go on although the result of an action is unknown.")
@click.option("--move-engine", is_flag=True, help="Move a release that keeps files on one engine to another engine.")
@session.connected
async def resume(client: "Client", name: str, wanted: begin.Wanted, accept_lost: bool, move_engine: bool) -> None:
    """Continue the last operation of a FAILED release, by its plan.

    The state of each resource is read again, so that nothing is done twice.
    """
    options = wanted.operation_options(accept_lost=accept_lost or None, move_engine=move_engine or None)
    await begin.carry_out(
        client,
        wanted,
        lambda: client.releases.resume(name, namespace=wanted.namespace, reason=wanted.reason, **options),
    )


@click.command(cls=command.Command)
@_name
@begin.options
@session.connected
async def test(client: "Client", name: str, wanted: begin.Wanted) -> None:
    """Run the tests of an installed release, which stays as it is.

    The progress is shown until the operation has ended; the exit code is the outcome. The tests are the resources of
    the release's charts that are hooks of the event test.
    """
    options = wanted.operation_options()
    await begin.carry_out(
        client,
        wanted,
        lambda: client.releases.test(name, namespace=wanted.namespace, reason=wanted.reason, **options),
    )


@click.command(cls=command.Command)
@_name
@begin.namespace
@click.option("--now", is_flag=True, help="Kill running steps; without this option they get 30 seconds to end.")
@click.option("--reason", default="", help="Reason, which is kept with the operation.")
@session.connected
async def cancel(client: "Client", name: str, namespace: str, now: bool, reason: str) -> None:
    """Cancel the operation of a release. No more steps start, and what was applied stays."""
    before = await begin.newest(client, name, namespace)
    if before.state.is_final:
        raise failure.Failure(
            f"{name} has no operation to cancel; its last operation {before.id} ended as {before.state}"
        )
    operation = await client.releases.cancel(before.id, now=now, reason=reason)
    seconds = operation.cancel_grace_seconds
    grace = f"running steps have {seconds}s to end" if seconds else "running steps are killed"
    match operation.state:
        case State.CANCELLED:
            output.line(f"{name}  cancelled  operation {operation.id}")
        case State.PENDING | State.RUNNING:
            output.line(f"{name}  cancel requested  operation {operation.id}  {grace}")
        case _:
            raise failure.Failure(f"operation {operation.id} has ended as {operation.state} before it was cancelled")
