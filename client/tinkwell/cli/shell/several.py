"""Handles several resources, of which some may not exist."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tinkwell.cli import failure
from tinkwell.cli.shell import output

if TYPE_CHECKING:
    from tinkwell.client import Change

T = TypeVar("T")
R = TypeVar("R")


async def attempt(items: Iterable[T], work: Callable[[T], Awaitable[R]]) -> tuple[list[R], list[str]]:
    """Do the work for each item. Returns the results, and a sentence for each item that does not exist."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    results: list[R] = []
    missing: list[str] = []
    for item in items:
        try:
            results.append(await work(item))
        except (errors.NotFound, errors.InvalidField) as error:
            missing.append(failure.describe(error))
    return results, missing


async def show(
    items: Sequence[T],
    work: Callable[[T], Awaitable[R]],
    write: Callable[[list[R]], None],
) -> None:
    """Get each item, and write those that exist. Raises `Failure` for the others."""
    found, missing = await attempt(items, work)
    if found or not missing:
        write(found)
    if missing:
        raise failure.Failure(*missing)


async def delete(names: Sequence[str], work: "Callable[[str], Awaitable[Change]]") -> None:
    """Delete each resource, and write its name and the revision. Raises `Failure` for those that do not exist."""

    async def delete_one(name: str) -> None:
        change = await work(name)
        output.line(f"{name}  deleted  revision {change.revision}")

    _, missing = await attempt(names, delete_one)
    if missing:
        raise failure.Failure(*missing)
