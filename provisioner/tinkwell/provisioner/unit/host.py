"""What all units of a machine share: the server, the lease, and the places where their files are."""

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
    """What units share.

    `storages` gives the names of all storage instances that there are in a namespace, `history` the id of the log of
    events, which is another one for another database, or after a restore. `address` is this machine's own. Without a
    `pool` all events begin cold.
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
        """Call with the lease's token until the server answers; raises the `errors.Error` that is its answer."""
        return await retry.until_answered(lambda: self.lease.under(call), what=what)

    async def forget(self, folder: UnitFolder) -> None:
        """End fork servers that have no charm any more, as the one of the unit whose folder has changed."""
        if self.pool is not None:
            self.pool.retain(await asyncio.to_thread(self.folders.digests), changed=folder.charm)

    async def append_logs(self, unit_id: str, lines: Sequence[UnitLogLine]) -> None:
        """Store lines of a unit's log; raises `errors.Error` where the server does not want them."""
        await self.call(lambda token: self.api.append_logs(token, unit_id, lines), what="append lines of a unit")
