"""What commands that remove something share: the question whether they may, and what `--force` means."""

import click

from tinkwell.juju.shell import failure

# How long Juju waits for each step of a forced removal.
FORCED_SECONDS = 60


def grace_seconds(*, force: bool, no_wait: bool) -> int:
    """Return how long a forced removal waits for the regular end; raises `Usage`."""
    if no_wait and not force:
        raise failure.Usage("--no-wait without --force not valid")
    return FORCED_SECONDS if force and not no_wait else 0


def confirm(question: str, *, is_sure: bool) -> None:
    """Ask the user for confirmation; raises `Failure` without it."""
    if is_sure:
        return
    try:
        is_sure = click.confirm(f"{question} Continue", err=True)
    except click.Abort as error:  # standard input has ended, as it does for programs
        click.echo(err=True)
        raise failure.Failure("aborted: nobody has answered; --no-prompt does not ask") from error
    if not is_sure:
        raise failure.Failure("aborted")
