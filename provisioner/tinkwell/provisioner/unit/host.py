"""The resources that all units of a machine share: the server, the lease, the folders and more."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tinkwell.client import retry
from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.unit.agent.api import UnitApi
from tinkwell.client.unit.agent.outcome import OutcomeFolder
from tinkwell.client.unit.model import UnitLogLine
from tinkwell.provisioner.unit.dispatch.venv import Venvs
from tinkwell.provisioner.unit.folder import Folders, UnitFolder
from tinkwell.provisioner.unit.tool.desk import Desk
from tinkwell.provisioner.unit.warm.pool import Pool

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The resources that units share.

    `storages` returns the names of all storage instances of a namespace. `history` returns the id of the event log,
    which changes with another database and after a restore. `address` is this machine's own. Without a `pool`, each
    event starts a new Python.
    """

    api: UnitApi
    storages: Callable[[str], Awaitable[frozenset[str]]]
    history: Callable[[], Awaitable[str]]
    lease: Keeper
    folders: Folders
    outcomes: OutcomeFolder
    desk: Desk
    venvs: Venvs
    address: str
    pool: Pool | None = None

    async def call(self, call: Callable[[int], Awaitable[T]], *, what: str) -> T:
        """Call with the lease's token until the server answers; raises the `errors.Error` that it answers."""
        return await retry.until_answered(lambda: self.lease.under(call), what=what)

    async def forget(self, folder: UnitFolder) -> None:
        """End fork servers whose charm no unit has, and that of the unit in `folder`, whose charm has changed."""
        if self.pool is not None:
            self.pool.retain(await asyncio.to_thread(self.folders.digests), changed=folder.charm)

    async def append_logs(self, unit_id: str, lines: Sequence[UnitLogLine]) -> None:
        """Store lines of a unit's log; raises `errors.Error` if the server refuses them."""
        await self.call(lambda token: self.api.append_logs(token, unit_id, lines), what="append lines of a unit")
