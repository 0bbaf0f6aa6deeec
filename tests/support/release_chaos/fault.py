"""What can happen to those who bring releases about, kind by kind. Each returns whether it really did."""

import enum
import json
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from support.chaos import stage
from support.chaos.injury import Injuries
from support.chaos.worker import Site


class Kind(enum.StrEnum):
    """The kinds of faults."""

    KILLED_PROVISIONER = "provisioner killed (SIGKILL)"
    MISSED_PROVISIONER = "provisioner killed, away for longer than its lease"
    STOPPED_PROVISIONER = "provisioner stopped (SIGTERM)"
    FROZEN_PROVISIONER = "provisioner frozen (SIGSTOP) and thawed"
    DREAMING_PROVISIONER = "provisioner frozen for longer than its lease"
    DESERTED_ENGINE = "provisioners of an engine killed, away for long"
    REBOOT = "machine rebooted: provisioners and runs killed"
    KILLED_RUN = "run of an action killed (SIGKILL)"
    KILLED_SUPERVISOR = "supervisor of an action's run killed (SIGKILL)"
    KILLED_SERVER = "server killed (SIGKILL)"
    STOPPED_SERVER = "server stopped (SIGTERM)"
    FROZEN_SERVER = "server frozen (SIGSTOP) and thawed"
    KILLED_BACKEND = "PostgreSQL backend killed (SIGKILL)"
    FAST_RESTART = "PostgreSQL restarted (fast)"
    IMMEDIATE_RESTART = "PostgreSQL restarted (immediate)"


class Faults:
    """Injects faults; a site is an engine."""

    def __init__(self, injuries: Injuries, sites: Sequence[Site]) -> None:
        self._injuries = injuries
        self._provisioners = stage.workers_of(sites)

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        injuries, provisioners = self._injuries, self._provisioners
        faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.KILLED_PROVISIONER: lambda: injuries.kill(provisioners, injuries.moment()),
            Kind.MISSED_PROVISIONER: lambda: injuries.kill(provisioners, injuries.absence()),
            Kind.STOPPED_PROVISIONER: lambda: injuries.stop(provisioners),
            Kind.FROZEN_PROVISIONER: lambda: injuries.freeze(provisioners, injuries.moment()),
            Kind.DREAMING_PROVISIONER: lambda: injuries.freeze(provisioners, injuries.absence()),
            Kind.DESERTED_ENGINE: injuries.desert,
            Kind.REBOOT: injuries.reboot,
            Kind.KILLED_RUN: lambda: injuries.kill_run("process", of=_is_action),
            Kind.KILLED_SUPERVISOR: lambda: injuries.kill_run("shim", of=_is_action),
            Kind.KILLED_SERVER: injuries.kill_server,
            Kind.STOPPED_SERVER: injuries.stop_server,
            Kind.FROZEN_SERVER: injuries.freeze_server,
            Kind.KILLED_BACKEND: injuries.kill_backend,
            Kind.FAST_RESTART: lambda: injuries.restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: injuries.restart(signal.SIGQUIT),
        }
        return await faults[kind]()


def _is_action(run: Path) -> bool:
    """Whether a run has no answer to give: an action is repeated after it was killed, and a `state` has failed then."""
    try:
        return not json.loads((run / "spec.json").read_bytes())["answer_bytes"]
    except FileNotFoundError:  # it has just been removed
        return False
