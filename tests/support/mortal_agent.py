"""An agent for units that dies by SIGKILL at a point of its work, and a server that outlives it in a file."""

import asyncio
import enum
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import real_agent
from support.unit_server import UnitServer
from support.waiting import eventually
from tinkwell.client.unit.agent.outcome import Outcome, OutcomeFolder

EVENTS = ["install", "config-changed", "start", "db-relation-changed", "update-status", "stop"]
DEADLINE_SECONDS = 60.0
# It counts, beside what lands with the event, how often it has run. Where an agent is to die in it, it never ends.
SCRIPT = """
name=$JUJU_HOOK_NAME
echo "$name" >> {folder}/runs
count=$(state-get "count-$name")
state-set "count-$name=$((${{count:-0}} + 1))"
relation-set -r db:7 "last=$name"
if test "$name" = "{fatal}" && mkdir {folder}/fatal 2>/dev/null; then
    echo $$ > {folder}/left
    kill -KILL "$(cat {folder}/agent)"
    exec sleep 600
fi
"""


class Point(enum.StrEnum):
    """Where an agent dies."""

    GRANT = "before a grant's answer"
    HANDLER = "in the handler"
    BEFORE_OUTCOME = "before the outcome file"
    AMID_OUTCOME = "before the outcome file has its name"
    AFTER_OUTCOME = "after the outcome file"
    COMMIT = "after the commit, before its answer"
    ANSWER = "after the commit's answer"

    @property
    def repeats(self) -> bool:
        """Whether the handler runs once more."""
        return self in (Point.HANDLER, Point.BEFORE_OUTCOME, Point.AMID_OUTCOME)


def server(folder: Path, fatal: str = "") -> UnitServer:
    """Make the server of a round, or find it as it was left."""
    text = SCRIPT.format(folder=folder, fatal=fatal)
    return UnitServer(EVENTS, dict.fromkeys(EVENTS, text), path=folder / "server")


def die(folder: Path, point: Point, event: str) -> None:
    """Be an agent until it dies at a point of an event; for a process of its own."""
    (folder / "agent").write_text(str(os.getpid()))
    made = server(folder, event if point is Point.HANDLER else "")
    number = EVENTS.index(event)

    match point:
        case Point.GRANT:
            kill_after(made, "next_event" if number == 0 else "commit", lambda: made.state.done == number)
        case Point.COMMIT:
            kill_after(made, "commit", lambda: made.state.done == number + 1)
        case Point.BEFORE_OUTCOME | Point.AFTER_OUTCOME | Point.ANSWER | Point.AMID_OUTCOME:
            _kill_at_outcome(point, number)
        case Point.HANDLER:
            pass
    asyncio.run(live(made, folder))


async def live(made: UnitServer, folder: Path) -> None:
    """Be an agent until all events are committed."""
    async with real_agent.serving(made, folder / "units"):
        await eventually(lambda: made.is_over, deadline_seconds=DEADLINE_SECONDS)
        await eventually(lambda: not OutcomeFolder(folder / "units/outcomes").unit_ids())


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(made: UnitServer, name: str, is_time: Callable[[], bool]) -> None:
    """Die when a call of the server has taken effect and has not answered."""
    original: Callable[..., Any] = getattr(made, name)

    async def called(*arguments: Any, **options: Any) -> Any:
        answer = await original(*arguments, **options)
        if is_time():
            _kill()
        return answer

    setattr(made, name, called)


def _kill_at_outcome(point: Point, number: int) -> None:
    """Die at the outcome file of an event."""
    keep, drop, flush = OutcomeFolder.keep, OutcomeFolder.drop, os.fsync

    def kept(folder: OutcomeFolder, outcome: Outcome) -> None:
        if int(outcome.event_id) == number:
            if point is Point.BEFORE_OUTCOME:
                _kill()
            if point is Point.AMID_OUTCOME:
                os.fsync = _flush_and_kill  # type: ignore[assignment]
        keep(folder, outcome)
        if int(outcome.event_id) == number and point is Point.AFTER_OUTCOME:
            _kill()

    def _flush_and_kill(descriptor: int) -> None:
        flush(descriptor)
        _kill()

    def dropped(folder: OutcomeFolder, unit_id: str) -> None:
        found = folder.find(unit_id)
        if point is Point.ANSWER and found is not None and int(found.event_id) == number:
            _kill()
        drop(folder, unit_id)

    setattr(OutcomeFolder, "keep", kept)  # noqa: B010  (types would have it that methods stay)
    setattr(OutcomeFolder, "drop", dropped)  # noqa: B010
