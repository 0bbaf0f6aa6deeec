"""What can happen to those who run units, kind by kind. Each returns whether it really did."""

import asyncio
import enum
import random
import signal
from collections.abc import Awaitable, Callable, Sequence

from support.chaos import stage, worker
from support.chaos.injury import Injuries
from support.chaos.worker import Site
from tinkwell.provisioner.runtime.process import identity

# Most scripts are over in a moment.
_LOOKS_FOR_A_SCRIPT = 100
_PAUSE_SECONDS = 0.02


class Kind(enum.StrEnum):
    """The kinds of faults."""

    KILLED_AGENT = "agent killed (SIGKILL)"
    MISSED_AGENT = "agent killed, away for longer than its lease"
    STOPPED_AGENT = "agent stopped (SIGTERM)"
    FROZEN_AGENT = "agent frozen (SIGSTOP) and thawed"
    DREAMING_AGENT = "agent frozen for longer than its lease"
    KILLED_SCRIPT = "script killed (SIGKILL)"
    KILLED_SERVER = "server killed (SIGKILL)"
    STOPPED_SERVER = "server stopped (SIGTERM)"
    FROZEN_SERVER = "server frozen (SIGSTOP) and thawed"
    KILLED_BACKEND = "PostgreSQL backend killed (SIGKILL)"
    FAST_RESTART = "PostgreSQL restarted (fast)"
    IMMEDIATE_RESTART = "PostgreSQL restarted (immediate)"


class Faults:
    """Injects faults; a site is a state directory."""

    def __init__(self, injuries: Injuries, sites: Sequence[Site], *, chance: random.Random) -> None:
        self._injuries = injuries
        self._sites = sites
        self._chance = chance
        self._agents = stage.workers_of(sites)

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        injuries, agents = self._injuries, self._agents
        faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.KILLED_AGENT: lambda: injuries.kill(agents, injuries.moment()),
            Kind.MISSED_AGENT: lambda: injuries.kill(agents, injuries.absence()),
            Kind.STOPPED_AGENT: lambda: injuries.stop(agents),
            Kind.FROZEN_AGENT: lambda: injuries.freeze(agents, injuries.moment()),
            Kind.DREAMING_AGENT: lambda: injuries.freeze(agents, injuries.absence()),
            Kind.KILLED_SCRIPT: self._kill_script,
            Kind.KILLED_SERVER: injuries.kill_server,
            Kind.STOPPED_SERVER: injuries.stop_server,
            Kind.FROZEN_SERVER: injuries.freeze_server,
            Kind.KILLED_BACKEND: injuries.kill_backend,
            Kind.FAST_RESTART: lambda: injuries.restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: injuries.restart(signal.SIGQUIT),
        }
        return await faults[kind]()

    async def _kill_script(self) -> bool:
        for _ in range(_LOOKS_FOR_A_SCRIPT):
            found = [pid for site in self._sites for pid in _scripts(site)]
            if found:
                worker.kill(self._chance.choice(found))
                return True
            await asyncio.sleep(_PAUSE_SECONDS)
        return False


def _scripts(site: Site) -> list[int]:
    """Return the processes that run for units."""
    found = []
    for record in (site.state_dir / "units/units").glob("*/process"):
        try:
            found.append(identity.living(record.read_text("ascii")))
        except FileNotFoundError:  # its unit is gone by now
            continue
    return [pid for pid in found if pid]
