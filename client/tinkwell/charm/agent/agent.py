"""Runs an agent: one lease, one stream of wakes, and a host for each unit."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tinkwell.charm import description
from tinkwell.charm.agent.folder import AgentFolder
from tinkwell.charm.agent.host import Host, Served
from tinkwell.charm.agent.outbox import LogHandler
from tinkwell.charm.charm import Charm
from tinkwell.client import backoff, errors
from tinkwell.client.client import Client
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.retry import until_answered
from tinkwell.client.watch import watch
from tinkwell.core.unit.kinds import CharmKind

logger = logging.getLogger(__name__)

# How long running events may go on when the agent is stopped.
GRACE_SECONDS = 10.0
_SWEEP_SECONDS = 5.0
# Detached storages may be removed at any time, without an event for the agent.
_SWEEP_AGAIN_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The units that an agent serves: those of an application, on machines (ids of hardware) or on none."""

    application: str
    namespace: str = "default"
    machines: tuple[str, ...] = ()

    @property
    def anywhere(self) -> bool:
        """Whether it serves the units that belong to no machine."""
        return not self.machines


class Agent:
    """Serves the units of an application with a charm. Effects are exactly once, handlers at least once."""

    def __init__(
        self,
        client: Client,
        charm_class: type[Charm],
        wanted: Wanted,
        state_dir: Path,
        *,
        look_seconds: float = 1.0,
    ) -> None:
        """Lock the folder for this agent. Raises `CharmError` if another agent uses it, and `OSError`."""
        self._client = client
        self._wanted = wanted
        self._folder = AgentFolder.open(state_dir)
        # Nobody else can read what this agent keeps on its disk, so its engine is its own, and serves as its name.
        self._lease = Keeper(client.work, owner=self._folder.engine, engine=self._folder.engine)
        self._hosts: dict[str, Host] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_gone = asyncio.Event()
        self._served = Served(
            units=client.units,
            lease=self._lease,
            folder=self._folder,
            charm_class=charm_class,
            digest=description.digest(charm_class),
            stopping=asyncio.Event(),
            look_seconds=look_seconds,
        )

    @property
    def digest(self) -> str:
        """The digest of the charm that it serves units with."""
        return self._served.digest

    def stop(self) -> None:
        """Stop the agent: running events get ten seconds to end, and no others begin."""
        logger.info("the agent stops; running events may end")
        self._served.stopping.set()

    async def run(self) -> None:
        """Serve units until `stop` is called; raises an `errors.Error` if another try cannot help. Call it once."""
        handler = LogHandler()
        logging.getLogger().addHandler(handler)
        try:
            async with asyncio.TaskGroup() as group:
                keeper = group.create_task(self._lease.run(), name="lease")
                await self._serve()
                await self._lease.end()
                keeper.cancel()
        except BaseExceptionGroup as group:
            raise _first(group) from group
        finally:
            logging.getLogger().removeHandler(handler)
            self._folder.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            for unit_id in await asyncio.to_thread(self._folder.outcomes.unit_ids):
                self._wake(unit_id, group)
            watcher = group.create_task(self._watch(group), name="wakes")
            sweeper = group.create_task(self._sweep_again_and_again(), name="storages")
            await self._served.stopping.wait()
            watcher.cancel()
            sweeper.cancel()
            for host in self._hosts.values():
                host.wake()
            if self._tasks:
                _, late = await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
                for task in late:
                    task.cancel()

    def _wake(self, unit_id: str, group: asyncio.TaskGroup) -> None:
        host = self._hosts.get(unit_id)
        if host is None:
            host = self._hosts[unit_id] = Host(self._served, unit_id)
            task = group.create_task(host.run(), name=f"unit {unit_id}")
            self._tasks.add(task)
            task.add_done_callback(lambda ended: self._forget(unit_id, ended))
        host.wake()

    def _forget(self, unit_id: str, task: asyncio.Task[None]) -> None:
        del self._hosts[unit_id]
        self._tasks.discard(task)
        self._has_gone.set()

    async def _sweep_again_and_again(self) -> NoReturn:
        """Remove the folders of storages that were removed, alone or with their unit; detached ones stay."""
        while True:
            self._has_gone.clear()
            try:
                await sweep(self._client, self._folder, self._wanted.namespace)
            except (errors.Error, OSError) as error:
                logger.warning("storages that are gone cannot be removed", extra={"cause": str(error)})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SWEEP_AGAIN_SECONDS):
                    await self._has_gone.wait()
            # The server deletes storages a little later than it reports their unit as removed.
            await asyncio.sleep(_SWEEP_SECONDS)

    async def _watch(self, group: asyncio.TaskGroup) -> NoReturn:
        pause = backoff.Backoff()
        while True:
            token = await self._lease.token()
            # No wake names a unit that was removed while the connection was lost.
            known = tuple(self._hosts)
            try:
                async for unit_ids in self._client.units.wakes(
                    token,
                    kinds=[CharmKind.NATIVE],
                    machines=self._wanted.machines,
                    anywhere=self._wanted.anywhere,
                    charm=self.digest,
                    namespace=self._wanted.namespace,
                    application=self._wanted.application,
                ):
                    pause.reset()
                    for unit_id in (*known, *unit_ids):
                        self._wake(unit_id, group)
                    known = ()
            except errors.LeaseLost:
                await self._lease.make_sure(token)
            except errors.Error as error:
                if watch.is_final(error):
                    raise
                logger.warning("units are not watched", extra={"cause": str(error)})
            await asyncio.sleep(pause.next_seconds())


async def sweep(client: Client, folder: AgentFolder, namespace: str) -> None:
    """Remove the folders of storages that the server no longer has; raises `errors.Error` and `OSError`."""
    # In this order: the server knows a storage before there is a folder.
    kept = await asyncio.to_thread(folder.storages, namespace)
    if not kept:
        return

    async def known() -> frozenset[str]:
        return frozenset([each.name async for each in client.applications.storages(namespace=namespace)])

    for name in kept - await until_answered(known, what="list storages"):
        await asyncio.to_thread(folder.remove_storage, namespace, name)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended the agent; the other tasks were cancelled because of it."""
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
