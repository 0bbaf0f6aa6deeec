"""What commands that begin an operation share: options, waiting for another operation, and following."""

import dataclasses
import functools
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.release.follow import operation as follow
from tinkwell.cli.release.follow import summary
from tinkwell.cli.shell import duration, option, output
from tinkwell.core import errors as core_errors
from tinkwell.core.release import name as release_name
from tinkwell.core.release.kinds import OnFailure

if TYPE_CHECKING:
    from tinkwell.client import Client, Operation, OperationHandle, OperationOptions


class ReleaseName(click.ParamType[str]):
    """The name of a release, or of a namespace."""

    name = "name"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name; a file in its place is an argument that was left out."""
        text = str(value)
        try:
            return release_name.parse_name("", text)
        except core_errors.InvalidField as error:
            is_file = text == "-" or Path(text).exists()
            hint = "; the name of the release comes before its files or its chart" if is_file else ""
            self.fail(f"{error.violations[0].description}{hint}", param, ctx)


namespace = click.option(
    "-n",
    "--namespace",
    type=ReleaseName(),
    default=release_name.DEFAULT_NAMESPACE,
    show_default=True,
    metavar="NAME",
    help="Namespace of the release.",
)

_OPTIONS = (
    namespace,
    click.option(
        "--timeout",
        type=duration.Duration(),
        help="Longest time for the whole operation, from the request on. [default: 5m]",
    ),
    click.option(
        "--readiness-timeout",
        type=duration.Duration(),
        help="Longest time for a resource to become ready after its actions.",
    ),
    click.option(
        "--on-failure",
        type=click.Choice([each.value for each in OnFailure]),
        help="When a resource fails: start no other one, or go on with those that do not depend on it. [default: stop]",
    ),
    click.option(
        "--parallel",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of resources to work on at the same time. [default: 8]",
    ),
    click.option("-v", "--verbose", is_flag=True, help="Let resources print more."),
    click.option("--reason", default="", help="Reason, which is kept with the operation."),
    click.option(
        "--wait-lock",
        type=duration.Duration(),
        default=0.0,
        help="Longest wait for another operation on the release to end. [default: none]",
    ),
    click.option("--detach", is_flag=True, help="Print the operation's ID, and do not follow the operation."),
    option.object_format,
)
atomic = click.option("--atomic", is_flag=True, help="If the operation fails, return to the former state.")
history_max = click.option(
    "--history-max", type=click.IntRange(min=1), metavar="N", help="Number of revisions to keep. [default: 10]"
)
description = click.option("--description", default="", help="Description, which is kept with the revision.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The values of the options."""

    namespace: str
    timeout: float | None
    readiness_timeout: float | None
    on_failure: str | None
    parallel: int | None
    verbose: bool
    reason: str
    wait_lock: float
    detach: bool
    output_format: output.Format

    def operation_options(self, **others: object) -> "OperationOptions":
        """Return the operation's options that were given, with those of `others` that are not None."""
        given = {
            "timeout_seconds": _whole(self.timeout),
            "readiness_timeout_seconds": _whole(self.readiness_timeout),
            "on_failure": self.on_failure,
            "parallel": self.parallel,
            "verbose": self.verbose or None,
            **others,
        }
        result: Any = {name: value for name, value in given.items() if value is not None}
        return result  # type: ignore[no-any-return]  # what is left out is the server's to choose


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options that all operations have to a command, which is given their values as `wanted`."""

    @functools.wraps(command)
    def with_wanted(*args: Any, **kwargs: Any) -> object:
        values = {field.name: kwargs.pop(field.name) for field in dataclasses.fields(Wanted)}
        return command(*args, wanted=Wanted(**values), **kwargs)

    result: Callable[..., object] = with_wanted
    for add in reversed(_OPTIONS):
        result = add(result)
    return result


async def newest(client: "Client", name: str, namespace: str) -> "Operation":
    """Get the newest operation of a release, be it one that leaves the release as it is."""
    async for operation in client.releases.operations(name, namespace=namespace):
        return operation
    raise failure.Failure(f"{name} has no operation")


async def carry_out(
    client: "Client",
    wanted: Wanted,
    begin: "Callable[[], Awaitable[OperationHandle]]",
    source: summary.Source | None = None,
) -> None:
    """Begin an operation, and follow it unless `--detach` was given. Raises `Failure` if it does not succeed."""
    handle = await start(client, wanted, begin)
    if not wanted.detach:
        chosen = wanted.output_format
        await follow.follow(client, handle.operation, chosen=chosen, is_begun_here=True, source=source)
    elif wanted.output_format is output.Format.TABLE:
        output.line(handle.id)
    else:
        output.whole(handle.operation.to_json(), wanted.output_format)


async def start(
    client: "Client", wanted: Wanted, begin: "Callable[[], Awaitable[OperationHandle]]"
) -> "OperationHandle":
    """Begin an operation. If another one is active, wait for its end, at most as long as `--wait-lock` says."""
    import asyncio  # it costs start-up time, see main

    from tinkwell.client import errors  # gRPC costs start-up time, see main

    deadline = asyncio.get_running_loop().time() + wanted.wait_lock
    waited_for = ""
    while True:
        try:
            return await begin()
        except errors.OperationActive as error:
            other = await client.releases.operation(error.operation_id)
            if not wanted.wait_lock:
                wait = "--wait-lock 60s waits for its end"
                raise failure.Failure(f"{error.message}; {summary.command('watch', other)} shows it, {wait}") from error
        if other.id != waited_for:
            output.note(f"Waiting for the end of operation {other.id} of {other.release_name}.")
            waited_for = other.id
        try:
            async with asyncio.timeout_at(deadline):
                await client.releases.wait(other.id)
        except TimeoutError:
            raise failure.Failure(f"operation {other.id} has not ended within {wanted.wait_lock:g} s") from None


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else math.ceil(seconds)
