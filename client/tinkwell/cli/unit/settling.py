"""Waits until units have handled all their events: for `--wait` of other commands, and for `tinkwell app wait`."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import command, duration, output, session
from tinkwell.cli.unit import line, option

if TYPE_CHECKING:
    from tinkwell.client import Client, errors

_ACTIVE = "active"
_OPTIONS = (
    click.option("--wait", is_flag=True, help="Wait until the units have handled all their events."),
    click.option("--timeout", type=duration.Duration(), help="Longest time for --wait. [default: none]"),
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The values of the options."""

    wait: bool
    timeout: float | None

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.wait:
            raise click.UsageError("--timeout goes with --wait")

    async def settle(self, client: "Client", applications: Iterable[str], namespace: str) -> None:
        """Wait for the units, if `--wait` was given. Raises `Failure` if an event fails or time is up."""
        from tinkwell.client import errors  # gRPC costs start-up time, see main

        if not self.wait:
            return
        names = tuple(dict.fromkeys(applications))
        try:
            await client.applications.settled(*names, namespace=namespace, timeout_seconds=self.timeout)
        except errors.UnitInError as error:
            raise _failed(error) from error
        except errors.NotFound:
            return  # it is gone already
        except TimeoutError as error:
            waited, named = duration.show(self.timeout or 0), " and ".join(names)
            raise failure.Failure(
                f"{named} not settled within {waited}; tinkwell app status {names[0]} shows why"
            ) from error


def options(asked: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, which is given their values as `waiting`."""

    @functools.wraps(asked)
    def with_waiting(*args: Any, **kwargs: Any) -> object:
        values = {field.name: kwargs.pop(field.name) for field in dataclasses.fields(Waiting)}
        return asked(*args, waiting=Waiting(**values), **kwargs)

    result: Callable[..., object] = with_waiting
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


@click.command(cls=command.Command)
@click.argument("names", nargs=-1, required=True, type=option.ApplicationName(), metavar="APPLICATION...")
@click.option("--active", "until_active", is_flag=True, help="Wait also until the status of each unit is active.")
@click.option("--timeout", type=duration.Duration(), help="Longest time to wait. [default: none]")
@option.namespace
@session.connected
async def wait(
    client: "Client", names: tuple[str, ...], until_active: bool, timeout: float | None, namespace: str
) -> None:
    """Wait until the units of applications have handled all their events. Name all related applications.

    It ends with exit code 1 as soon as an event has failed, and after `--timeout`.
    """
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    waiting = client.applications.active if until_active else client.applications.settled
    wanted = "active" if until_active else "settled"
    called = tuple(dict.fromkeys(names))
    try:
        await waiting(*called, namespace=namespace, timeout_seconds=timeout)
    except errors.UnitInError as error:
        raise _failed(error) from error
    except TimeoutError as error:
        waited = duration.show(timeout or 0)
        found = [each for name in called for each in await _unready(client, name, namespace)]
        raise failure.Failure(f"{' and '.join(called)} not {wanted} within {waited}", *found) from error
    output.line(f"{' and '.join(called)}: {wanted}")


def _failed(error: "errors.UnitInError") -> failure.Failure:
    return failure.Failure(f"{error.message}; tinkwell unit explain says more")


async def _unready(client: "Client", name: str, namespace: str) -> list[str]:
    """Return a sentence about each unit that is not active or still has events: its status, and what it runs."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        units = [each async for each in client.applications.units(name, namespace=namespace)]
        if not units:
            return []
        application = await client.applications.get(name, namespace=namespace)
    except errors.NotFound:
        return []  # the application was removed meanwhile, so nothing is left to wait for
    found = []
    for each, row in zip(units, await line.unit_rows(client, units, [application]), strict=True):
        _, _, _, event, status, message = row
        if event or status != _ACTIVE:
            runs = f"; it runs {event}" if event else ""
            found.append(f"{each.name} is {status}{f': {message}' if message else ''}{runs}")
        elif each.charm != application.charm:
            found.append(f"{each.name} does not run {application.charm} yet; does its agent have that charm?")
    return found
