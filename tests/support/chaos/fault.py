"""What can go wrong, kind by kind. Each returns whether it really did: there may have been nothing to break."""

import logging
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from support.chaos.consumer_fault import ConsumerFaults
from support.chaos.kind import Kind
from support.chaos.network_fault import NetworkFaults
from support.chaos.process_fault import ProcessFaults
from support.chaos.pruning import Pruning
from support.chaos.scene import Scene
from support.chaos.session_fault import SessionFaults
from support.chaos.succession import Successions
from support.chaos.write_fault import WriteFaults

logger = logging.getLogger(__name__)


class Faults:
    """Injects faults into a scene. What they write goes to the directory."""

    def __init__(self, scene: Scene, *, directory: Path) -> None:
        sessions, processes, consumers = SessionFaults(scene), ProcessFaults(scene), ConsumerFaults(scene)
        network, writes = NetworkFaults(scene), WriteFaults(scene)
        successions = Successions(scene, directory=directory)
        self._faults: dict[Kind, Callable[[], Awaitable[bool]]] = {
            Kind.LISTENER: lambda: sessions.terminate("tinkwell listener"),
            Kind.BELL: lambda: sessions.terminate("tinkwell bell"),
            Kind.READER: lambda: sessions.terminate("tinkwell reader"),
            Kind.REPLAY: sessions.terminate_replay,
            Kind.POOL: lambda: sessions.terminate("tinkwell", count=20),
            Kind.RETENTION: sessions.terminate_retention,
            Kind.CHECK: sessions.terminate_checks,
            Kind.WRITER: sessions.terminate_writers,
            Kind.ROLE_SETTING: sessions.give_setting,
            Kind.FAST_RESTART: lambda: processes.restart(signal.SIGINT),
            Kind.IMMEDIATE_RESTART: lambda: processes.restart(signal.SIGQUIT),
            Kind.FAIL_OVER: successions.fail_over,
            Kind.RESTORE: lambda: successions.restore(is_piecemeal=False),
            Kind.PIECEMEAL_RESTORE: lambda: successions.restore(is_piecemeal=True),
            Kind.HOLE: lambda: network.swallow(is_wide=False),
            Kind.WIDE_HOLE: lambda: network.swallow(is_wide=True),
            Kind.KILLED_SERVER: processes.kill_server,
            Kind.KILLED_WORKER: processes.kill_worker,
            Kind.STOPPED_SERVER: processes.stop_server,
            Kind.FROZEN_SERVER: processes.freeze_server,
            Kind.FROZEN_CONSUMER: consumers.freeze,
            Kind.SLOW_CONSUMER: consumers.slow_down,
            Kind.CLOSED_CONSUMER: consumers.close,
            Kind.SILENT_CONSUMER: consumers.silence,
            Kind.RECONNECT: consumers.reconnect,
            Kind.OPEN_GAP: writes.hold_gap_open,
            Kind.BULK: writes.change_many,
            Kind.FORGETTING: lambda: scene.forgetting.run(lambda: scene.pair.url),
            Kind.PRUNING: Pruning(scene).prune,
        }

    async def inject(self, kind: Kind) -> bool:
        """Let it happen, and end; return whether it did."""
        logger.debug("begins: %s", kind)
        has_happened = await self._faults[kind]()
        logger.debug("%s: %s", "has happened" if has_happened else "was in vain", kind)
        return has_happened
