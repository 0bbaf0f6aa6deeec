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
    """Bring about what manifests say, as the release NAME: a new one, or the next revision of the one that is there.

    FILEs are YAML or folders of it, and are united. Resources that the release has and no file names are removed. What
    happens is shown until the operation has ended, as `tinkwell release watch` shows it, with the outcome as exit code;
    Ctrl-C ends the showing, not the operation.
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
    """Bring a former revision about again; without REVISION, the last one that was deployed before the present one.

    `tinkwell release history NAME` lists revisions. Nothing is evaluated anew.
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
    """Remove a release: its resources in reverse order, and then its name is free.

    Resources that were there before the release, that are to be kept, or whose image cannot remove them, stay.
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
@click.option("--accept-lost", is_flag=True, help="Go on where nobody knows what became of an action.")
@click.option("--move-engine", is_flag=True, help="Let another engine have a release that keeps files on one.")
@session.connected
async def resume(client: "Client", name: str, wanted: begin.Wanted, accept_lost: bool, move_engine: bool) -> None:
    """Go on with a release that has FAILED, by the plan of its last operation.

    Each resource is asked again how it is, so that what is done already is not done twice.
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
    """Run the tests of what is installed of a release, which stays as it is.

    What happens is shown until the operation has ended, with the outcome as exit code. The tests are the resources of
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
@click.option("--now", is_flag=True, help="Kill what runs; otherwise it gets 30 seconds to end.")
@click.option("--reason", default="", help="Why; it is kept with the operation.")
@session.connected
async def cancel(client: "Client", name: str, namespace: str, now: bool, reason: str) -> None:
    """End the operation of a release. Nothing new starts, and what was applied stays."""
    before = await begin.newest(client, name, namespace)
    if before.state.is_final:
        raise failure.Failure(f"nothing changes {name}; its last operation {before.id} has ended as {before.state}")
    operation = await client.releases.cancel(before.id, now=now, reason=reason)
    seconds = operation.cancel_grace_seconds
    grace = f"what runs has {seconds}s to end" if seconds else "what runs is killed"
    match operation.state:
        case State.CANCELLED:
            output.line(f"{name}  cancelled  operation {operation.id}")
        case State.PENDING | State.RUNNING:
            output.line(f"{name}  cancel requested  operation {operation.id}  {grace}")
        case _:
            raise failure.Failure(f"operation {operation.id} has ended as {operation.state} before it was cancelled")
