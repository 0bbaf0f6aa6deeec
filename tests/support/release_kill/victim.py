"""A provisioner that stops itself, as by SIGSTOP, at one of its deeds.

Run as `python -m support.release_kill.victim DEED MOMENT NUMBER FOLDER ARGUMENT…`, where the arguments are those of
`tinkwell provisioner`. Deeds are counted once FOLDER/armed is there. At the moment of deed NUMBER it makes
FOLDER/reached, stops, and does nothing more, even when it is continued, before FOLDER/go is there.
"""

import functools
import inspect
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.release_kill.deed import Deed, Moment
from tinkwell.client.release.worker import ReleaseWorker
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState
from tinkwell.core.release.report import FinishReport, NodeReport, Report, StepReport
from tinkwell.provisioner.app import commands
from tinkwell.provisioner.lease.run_claim import ClaimFolder
from tinkwell.provisioner.runtime.process import runtime, shim
from tinkwell.provisioner.state_dir import state_dir

_PAUSE_SECONDS = 0.001


class Hook:
    """Counts a deed, and stops the process at the right one."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._count = itertools.count(1)

    def is_due(self) -> bool:
        """Take note of another deed, and say whether it is the one; in any thread."""
        return (self._folder / "armed").exists() and next(self._count) == self._number

    def stop(self) -> None:
        """Stop the whole process, until it is continued."""
        (self._folder / "reached").touch()
        os.kill(os.getpid(), signal.SIGSTOP)
        # Another thread may have taken the signal, and some instructions may pass before this one hears of it.
        while not (self._folder / "go").exists():
            time.sleep(_PAUSE_SECONDS)


def install(deed: Deed, moment: Moment, hook: Hook) -> None:
    """Put the hook into the product."""
    if deed is Deed.INPUT:
        setattr(state_dir, "write_private", _halved(state_dir.write_private, hook))  # noqa: B010  (mypy asks for it)
        return
    owner, name, does = _PLACES[deed]
    original = getattr(owner, name)

    def pass_by(now: Moment, arguments: Sequence[Any]) -> None:
        # What has failed, such as a call of a server that is away, was not done.
        if now is moment and does(arguments) and hook.is_due():
            hook.stop()

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def do_async(*arguments: Any, **named: Any) -> Any:
            pass_by(Moment.BEFORE, arguments)
            result = await original(*arguments, **named)
            pass_by(Moment.AFTER, arguments)
            return result

        setattr(owner, name, do_async)
        return

    @functools.wraps(original)
    def do(*arguments: Any, **named: Any) -> Any:
        pass_by(Moment.BEFORE, arguments)
        result = original(*arguments, **named)
        pass_by(Moment.AFTER, arguments)
        return result

    setattr(owner, name, do)


def _halved(write: Callable[[Path, bytes], None], hook: Hook) -> Callable[[Path, bytes], None]:
    def write_half(path: Path, content: bytes) -> None:
        if path.name != shim.STDIN or not hook.is_due():
            write(path, content)
            return
        half = len(content) // 2
        write(path, content[:half])
        hook.stop()
        with path.open("ab") as file:
            file.write(content[half:])

    return write_half


def _always(_: Sequence[Any]) -> bool:
    return True


def _reports(is_meant: Callable[[Report], bool]) -> Callable[[Sequence[Any]], bool]:
    """Say whether a call of `ReleaseWorker.report` has such a report."""

    def does(arguments: Sequence[Any]) -> bool:
        return any(map(is_meant, arguments[3]))

    return does


def _of_action(state: State) -> Callable[[Report], bool]:
    return lambda each: isinstance(each, StepReport) and each.kind.has_effects and each.state is state


def _is_done(each: Report) -> bool:
    return isinstance(each, NodeReport) and each.state in (NodeState.READY, NodeState.REMOVED)


# Whose attribute the deed is, and by which arguments it is that one.
_PLACES: dict[Deed, tuple[Any, str, Callable[[Sequence[Any]], bool]]] = {
    Deed.ACQUIRE: (ReleaseWorker, "acquire", _always),
    Deed.PLAN: (ReleaseWorker, "submit_plan", _always),
    Deed.INTENT: (ReleaseWorker, "report", _reports(_of_action(State.RUNNING))),
    Deed.CLAIM: (ClaimFolder, "take", _always),
    Deed.CREATE: (state_dir.StateDir, "create_run", _always),
    Deed.START: (runtime, "_launch", _always),
    Deed.EXIT: (runtime.ProcessRun, "wait", _always),
    Deed.ANSWER: (runtime.ProcessRun, "answer", _always),
    Deed.REPORT: (ReleaseWorker, "report", _reports(_of_action(State.SUCCEEDED))),
    Deed.READY: (ReleaseWorker, "report", _reports(_is_done)),
    Deed.REMOVE: (runtime.ProcessRun, "remove", _always),
    Deed.FINISH: (ReleaseWorker, "report", _reports(lambda each: isinstance(each, FinishReport))),
}


def main(deed: str, moment: str, number: str, folder: str, *arguments: str) -> None:
    """Be a provisioner."""
    install(Deed(deed), Moment(moment), Hook(Path(folder), int(number)))
    commands.provisioner(arguments, prog_name="tinkwell provisioner")


if __name__ == "__main__":
    main(*sys.argv[1:])
