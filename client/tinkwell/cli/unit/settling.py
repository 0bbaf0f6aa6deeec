"""Waiting until what a command has changed is settled, where `--wait` asks for that."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rich_click as click

from tinkwell.cli import failure
from tinkwell.cli.shell import duration

if TYPE_CHECKING:
    from tinkwell.client import Client

_OPTIONS = (
    click.option("--wait", is_flag=True, help="Wait until nothing runs and nothing is due any more."),
    click.option("--timeout", type=duration.Duration(), help="Longest wait; it goes with --wait. [default: none]"),
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
        """Wait for applications, if that was asked for; raises `Failure` where an event fails, or at the timeout."""
        from tinkwell.client import errors  # gRPC costs start-up time, see main

        if not self.wait:
            return
        names = tuple(dict.fromkeys(applications))
        try:
            await client.applications.settled(*names, namespace=namespace, timeout_seconds=self.timeout)
        except errors.UnitInError as error:
            raise failure.Failure(f"{error.message}; tinkwell unit explain says more") from error
        except errors.NotFound:
            return  # it is gone already
        except TimeoutError as error:
            waited, named = duration.show(self.timeout or 0), " and ".join(names)
            raise failure.Failure(
                f"{named} not settled within {waited}; tinkwell app status {names[0]} shows why"
            ) from error


def options(command: Callable[..., object]) -> Callable[..., object]:
    """Add the options to a command, which is given their values as `waiting`."""

    @functools.wraps(command)
    def with_waiting(*args: Any, **kwargs: Any) -> object:
        values = {field.name: kwargs.pop(field.name) for field in dataclasses.fields(Waiting)}
        return command(*args, waiting=Waiting(**values), **kwargs)

    result: Callable[..., object] = with_waiting
    for add in reversed(_OPTIONS):
        result = add(result)
    return result
