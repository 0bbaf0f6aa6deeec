"""What can happen to those who bring workflows to completion, kind by kind. Each returns whether it really did."""

import enum
import signal
from collections.abc import Awaitable, Callable, Sequence

from support.chaos.injury import Injuries
from support.chaos.worker import Site


class Kind(enum.StrEnum):
    """The kinds of faults."""

    KILLED_PROVISIONER = "provisioner killed (SIGKILL)"
    MISSED_PROVISIONER = "provisioner killed, away for longer than its lease"
    STOPPED_PROVISIONER = "provisioner stopped (SIGTERM)"
    FROZEN_PROVISIONER = "provisioner frozen (SIGSTOP) and thawed"
    DREAMING_PROVISIONER = "provisioner frozen for longer than its lease"
    KILLED_AGENT = "agent killed (SIGKILL)"
    MISSED_AGENT = "agent killed, away for longer than its lease"
    STOPPED_AGENT = "agent stopped (SIGTERM)"
    FROZEN_AGENT = "agent frozen (SIGSTOP) and thawed"
    DREAMING_AGENT = "agent frozen for longer than its lease"
    REBOOT = "machine rebooted: workers and runs killed"
    KILLED_RUN = "run of an action killed (SIGKILL)"
    KILLED_SUPERVISOR = "supervisor of a run killed (SIGKILL)"
    KILLED_SERVER = "server killed (SIGKILL)"
    STOPPED_SERVER = "server stopped (SIGTERM)"
    FROZEN_SERVER = "server frozen (SIGSTOP) and thawed"
    KILLED_BACKEND = "PostgreSQL backend killed (SIGKILL)"
    FAST_RESTART = "PostgreSQL restarted (fast)"
    IMMEDIATE_RESTART = "PostgreSQL restarted (immediate)"


class Faults:
    """Injects faults. The first site is that of the provisioners, every other one that of an agent."""

    def __init__(self, injuries: Injuries, sites: Sequence[Site]) -> None:
        self._injuries = injuries
        self._provisioners = sites[0].workers
        self._agents = [agent for site in sites[1:] for agent in site.workers]

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        injuries, provisioners, agents = self._injuries, self._provisioners, self._agents
        faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.KILLED_PROVISIONER: lambda: injuries.kill(provisioners, injuries.moment()),
            Kind.MISSED_PROVISIONER: lambda: injuries.kill(provisioners, injuries.absence()),
            Kind.STOPPED_PROVISIONER: lambda: injuries.stop(provisioners),
            Kind.FROZEN_PROVISIONER: lambda: injuries.freeze(provisioners, injuries.moment()),
            Kind.DREAMING_PROVISIONER: lambda: injuries.freeze(provisioners, injuries.absence()),
            Kind.KILLED_AGENT: lambda: injuries.kill(agents, injuries.moment()),
            Kind.MISSED_AGENT: lambda: injuries.kill(agents, injuries.absence()),
            Kind.STOPPED_AGENT: lambda: injuries.stop(agents),
            Kind.FROZEN_AGENT: lambda: injuries.freeze(agents, injuries.moment()),
            Kind.DREAMING_AGENT: lambda: injuries.freeze(agents, injuries.absence()),
            Kind.REBOOT: injuries.reboot,
            Kind.KILLED_RUN: lambda: injuries.kill_run("process"),
            Kind.KILLED_SUPERVISOR: lambda: injuries.kill_run("shim"),
            Kind.KILLED_SERVER: injuries.kill_server,
            Kind.STOPPED_SERVER: injuries.stop_server,
            Kind.FROZEN_SERVER: injuries.freeze_server,
            Kind.KILLED_BACKEND: injuries.kill_backend,
            Kind.FAST_RESTART: lambda: injuries.restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: injuries.restart(signal.SIGQUIT),
        }
        return await faults[kind]()
