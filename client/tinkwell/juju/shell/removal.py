"""What commands that remove something share: the question whether they may, and what `--force` means."""

import click

from tinkwell.juju.shell import failure

# Juju gives each step of a forced removal so long before it goes on without it.
FORCED_SECONDS = 60


def grace_seconds(*, force: bool, no_wait: bool) -> int:
    """Return how long a removal by force waits for what ends by itself; raises `Usage`."""
    if no_wait and not force:
        raise failure.Usage("--no-wait without --force not valid")
    return FORCED_SECONDS if force and not no_wait else 0


def confirm(question: str, *, is_sure: bool) -> None:
    """Ask whether something is to be done; raises `Failure` where it is not."""
    if is_sure:
        return
    try:
        is_sure = click.confirm(f"{question} Continue", err=True)
    except click.Abort as error:  # the input has ended, as that of programs does
        click.echo(err=True)
        raise failure.Failure("aborted: nobody has answered; --no-prompt does not ask") from error
    if not is_sure:
        raise failure.Failure("aborted")
