"""What all units of a machine share: the server, the lease, and the places where their files are."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tinkwell.client.unit.grant import Grant, NoEvent, SecretContent
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.client.unit.outcome import OutcomeFolder
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind
from tinkwell.provisioner.lease.keeper import Keeper
from tinkwell.provisioner.queue import retry
from tinkwell.provisioner.unit.dispatch.venv import Venvs
from tinkwell.provisioner.unit.folder import Folders
from tinkwell.provisioner.unit.tool.desk import Desk

T = TypeVar("T")


class UnitApi(Protocol):
    """What running units needs of the server; see `client.unit.worker.UnitClient`."""

    def wakes(
        self,
        lease_token: int,
        *,
        kinds: Iterable[CharmKind | str],
        machines: Iterable[str] = (),
        anywhere: bool = False,
    ) -> AsyncIterator[tuple[str, ...]]:
        """Iterate over ids of units that may have something due."""

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        """Get a unit's next event to run, or why there is none."""

    async def commit(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        effects: Effects | bytes,
        *,
        is_last: bool = False,
        task: TaskOutcome | None = None,
    ) -> Grant | NoEvent:
        """End an event or a task with all of its effects, and get the next one."""

    async def fail(
        self, lease_token: int, event_id: str, attempt: int, why: str, *, is_lost: bool = False
    ) -> Grant | NoEvent:
        """Say that an attempt has ended without success."""

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        """Read a bag for the unit whose event runs."""

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        """Read a revision of a secret for the unit whose event or task runs."""

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        """Store lines that a running task tells, from this number on."""

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        """Say at once how a unit is, or its application, and which version it runs."""

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        """Store lines of a unit's log."""

    def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        """Iterate over the parts of a charm's package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What units share.

    `storages` gives the names of all storage instances that there are in a namespace, `history` the id of the log of
    events, which is another one for another database, or after a restore. `address` is this machine's own.
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

    async def call(self, call: Callable[[int], Awaitable[T]], *, what: str) -> T:
        """Call with the lease's token until the server answers; raises the `errors.Error` that is its answer."""
        return await retry.until_answered(lambda: self.lease.under(call), what=what)

    async def append_logs(self, unit_id: str, lines: Sequence[UnitLogLine]) -> None:
        """Store lines of a unit's log; raises `errors.Error` where the server does not want them."""
        await self.call(lambda token: self.api.append_logs(token, unit_id, lines), what="append lines of a unit")
