"""The charm that a command line names, and what is said where it is refused."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tinkwell.cli import failure

_DIGEST = "sha256:"


def charm_of(given: str) -> "bytes | str | Path":
    """Give a charm as the client takes it. Raises `Failure` for what is none."""
    if given.startswith(_DIGEST):
        return given
    if not Path(given).exists():
        known = "name a folder, a package, or the digest of a charm that the server has (sha256:…)"
        raise failure.Failure(f"{given}: there is no such charm; {known}")
    return Path(given)


@contextlib.contextmanager
def refused(given: str) -> Iterator[None]:
    """Say of each mistake in which file of the charm it is."""
    from tinkwell.client import errors  # gRPC costs start-up time, see main

    try:
        yield
    except errors.CharmRefused as error:
        raise failure.Failure(*(f"{given}: {each.field}: {each.description}" for each in error.violations)) from error
