"""`version`: the version of Juju that this command imitates."""

import platform

import click

from tinkwell.juju.shell import command, controller
from tinkwell.juju.shell.context import Desk

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64el"}


@command.offline("version", formats=command.SMART_FIRST)
@click.option("--all", "is_all", is_flag=True, help="Say all that is known of it.")
def version(desk: Desk, is_all: bool) -> None:
    """Print the version of Juju that this command imitates."""
    machine = platform.machine()
    text = f"{controller.VERSION}-tinkwell-{_ARCHITECTURES.get(machine, machine)}"
    desk.show({"version": text} if is_all else text, None if is_all else lambda: [text])
