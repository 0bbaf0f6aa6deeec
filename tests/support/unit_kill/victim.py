"""A provisioner for units that waits at one of its points.

Run as `python -m support.unit_kill.victim FOLDER ARGUMENT…`, where the arguments are those of `tinkwell provisioner`.
FOLDER/armed has the point and the event's name, each on a line. There it is taken away, FOLDER/reached is made, and
nothing happens before FOLDER/go is there.
"""

import functools
import sys
import time
from pathlib import Path
from typing import Any

from support.unit_kill.case import Point
from tinkwell.client.unit.agent.grant import Grant
from tinkwell.client.unit.agent.outcome import OutcomeFolder
from tinkwell.client.unit.agent.worker import UnitClient
from tinkwell.provisioner.app import commands

_PAUSE_SECONDS = 0.002


class Hook:
    """Knows the names of events that were granted, and waits where it is to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}

    def pass_by(self, point: Point, event_id: str) -> None:
        """Be at a point of an event; in any thread."""
        try:
            armed = (self._folder / "armed").read_text().splitlines()
        except FileNotFoundError:
            return
        if armed != [point.value, self._names.get(event_id, "")]:
            return
        (self._folder / "armed").unlink()
        (self._folder / "reached").touch()
        while not (self._folder / "go").exists():
            time.sleep(_PAUSE_SECONDS)

    def learn(self, grant: Grant) -> None:
        """Take note of an event's name."""
        self._names[grant.event.id] = grant.event.name


def install(hook: Hook) -> None:
    """Put the hook into the product."""
    for name in ("next_event", "commit", "fail"):
        _replace(UnitClient, name, functools.partial(_granting, hook, name == "commit"))
    for name in ("keep", "drop"):
        _replace(OutcomeFolder, name, functools.partial(getattr(sys.modules[__name__], f"_{name}"), hook))


def _replace(owner: type, name: str, make: Any) -> None:
    setattr(owner, name, make(getattr(owner, name)))


def _granting(hook: Hook, is_commit: bool, original: Any) -> Any:
    async def called(client: UnitClient, lease_token: int, about: str, *arguments: Any, **named: Any) -> Any:
        answer = await original(client, lease_token, about, *arguments, **named)
        if is_commit:
            hook.pass_by(Point.ANSWER, about)
        if isinstance(answer, Grant):
            hook.learn(answer)
            hook.pass_by(Point.GRANT, answer.event.id)
        return answer

    return called


def _keep(hook: Hook, original: Any) -> Any:
    def called(folder: OutcomeFolder, outcome: Any) -> None:
        hook.pass_by(Point.BEFORE_OUTCOME, outcome.event_id)
        original(folder, outcome)
        hook.pass_by(Point.AFTER_OUTCOME, outcome.event_id)

    return called


def _drop(hook: Hook, original: Any) -> Any:
    def called(folder: OutcomeFolder, unit_id: str) -> None:
        found = folder.find(unit_id)
        if found is not None:
            hook.pass_by(Point.AFTER, found.event_id)
        original(folder, unit_id)

    return called


if __name__ == "__main__":
    install(Hook(Path(sys.argv[1])))
    commands.provisioner(sys.argv[2:], prog_name="provisioner")
