"""The commands of `tinkwell unit` that show the history of units."""

from typing import TYPE_CHECKING

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, log_line, output, session
from tinkwell.cli.shell import option as shell_option
from tinkwell.cli.unit import auditing, line, option

if TYPE_CHECKING:
    from tinkwell.client import Client, DeferredNotice, UnitEvent, UnitExplanation

_EVENT_HEADER = ("ORDINAL", "EVENT", "STATE", "ATTEMPT", "STARTED", "SECONDS", "MESSAGE")
_DEFERRED_HEADER = ("EVENT", "HANDLER", "AGE", "ATTEMPTS")


@click.command(cls=command.Command)
@option.unit
@click.option("--kind", "kinds", multiple=True, metavar="NAME", help="Only events such as relation-joined. Repeatable.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest events. [default: all]")
@option.namespace
@shell_option.object_format
@session.connected
async def events(
    client: "Client",
    unit_name: str,
    kinds: tuple[str, ...],
    limit: int | None,
    namespace: str,
    output_format: output.Format,
) -> None:
    """List the events of a unit, oldest first."""
    source = client.applications.events(unit_name, namespace=namespace, kinds=kinds, limit=limit or 0)
    found = [each async for each in source][::-1]
    if output_format is output.Format.TABLE:
        output.table(_EVENT_HEADER, map(_event_row, found))
    else:
        output.objects(found, output_format)


@click.command(cls=command.Command)
@click.argument("name", metavar="UNIT|APPLICATION")
@click.option("-f", "--follow", is_flag=True, help="Print new lines until the command is stopped.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the newest lines. [default: all]")
@shell_option.raw
@option.namespace
@shell_option.stream_format
@session.streaming
async def logs(
    client: "Client",
    name: str,
    follow: bool,
    limit: int | None,
    is_raw: bool,
    namespace: str,
    output_format: output.Format,
) -> None:
    """Show the log and the script output of a unit, or of all units of an application."""
    paper = log_line.Paper(is_raw=is_raw, is_mixed=True)
    source = client.applications.logs(name, namespace=namespace, follow=follow, limit=limit or 0)
    async for each in source:
        if output_format is not output.Format.TABLE:
            output.item(each.to_json(), output_format)
        else:
            place = f"{each.unit}#{each.ordinal}", each.attempt, each.number
            paper.write(each.text, prefix=_prefix(each.unit, each.event_name, each.level), place=place, is_open=False)
    paper.end()


@click.command(cls=command.Command)
@option.unit
@option.namespace
@shell_option.object_format
@session.connected
async def deferred(client: "Client", unit_name: str, namespace: str, output_format: output.Format) -> None:
    """List the deferred events of a unit, in the order in which they are retried."""
    found = [each async for each in client.applications.deferred(unit_name, namespace=namespace)]
    if output_format is output.Format.TABLE:
        output.table(_DEFERRED_HEADER, map(_deferred_row, found))
    else:
        output.objects(found, output_format)


@click.command(cls=command.Command)
@option.unit
@option.namespace
@shell_option.object_format
@session.connected
async def explain(client: "Client", unit_name: str, namespace: str, output_format: output.Format) -> None:
    """Explain what a unit does, waits for or failed at, what caused that, and how to go on."""
    found = await client.applications.explain(unit_name, namespace=namespace)
    if output_format is not output.Format.TABLE:
        output.whole(found.to_json(), output_format)
        return
    for sentence in explanation(found):
        output.line(sentence)


@click.command(cls=command.Command)
@click.argument("names", nargs=-1, metavar="[APPLICATION|UNIT...]")
@option.namespace
@shell_option.object_format
@session.connected
async def audit(client: "Client", names: tuple[str, ...], namespace: str, output_format: output.Format) -> None:
    """Check that the events of units in a namespace came in a correct order, as far as the log has them.

    Units that were created before the oldest kept event are left out. The command fails if a rule was broken.
    """
    report = await auditing.audit(client, namespace, names)
    if output_format is output.Format.TABLE:
        output.line(report.sentence())
    else:
        output.whole(report.to_json(), output_format)
    if report.violations:
        raise failure.Failure(*map(str, report.violations))


def explanation(found: "UnitExplanation") -> list[str]:
    """Return the lines that explain a unit."""
    told = [("", found.sentence)]
    told += [("because", f"{each.sentence}{_where(each.revision)}") for each in found.causes]
    behind = ", ".join(found.behind)
    waiting = _deferred(found.deferred)
    if behind or waiting:
        told.append(("behind", "; ".join(filter(None, (behind, waiting)))))
    if found.advice:
        told.append(("go on", found.advice))
    width = max(len(head) for head, _ in told)
    return [output.clean(f"  {head:<{width}}  {text}" if head else text) for head, text in told]


def _where(revision: int) -> str:
    return f" (revision {revision})" if revision else ""


def _deferred(notices: "tuple[DeferredNotice, ...]") -> str:
    if not notices:
        return ""
    first = notices[0]
    attempts = f"{first.attempts} attempt{'' if first.attempts == 1 else 's'}"
    oldest = filter(None, (f"{first.told.name} #{first.ordinal}", line.ago(first.created_at), attempts))
    return f"deferred: {len(notices)} ({', '.join(oldest)})"


def _event_row(event: "UnitEvent") -> tuple[str, ...]:
    seconds = ""
    if event.started_at is not None and event.finished_at is not None:
        seconds = f"{(event.finished_at - event.started_at).total_seconds():.1f}"
    started = output.moment(event.started_at)
    return str(event.ordinal), line.about(event), event.state, str(event.attempt), started, seconds, event.message


def _deferred_row(notice: "DeferredNotice") -> tuple[str, ...]:
    event = f"{notice.told.name} #{notice.ordinal}"
    return event, notice.handler, line.ago(notice.created_at), str(notice.attempts)


def _prefix(unit: str, event: str, level: str) -> str:
    return f"{unit} {event} {level} | "
