"""The calls of the server that an agent uses, which `client.units` has."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol

from tinkwell.client.unit.agent.grant import Grant, NoEvent, SecretContent
from tinkwell.client.unit.model import Bag, UnitLogLine, UnitStatus
from tinkwell.core.unit.effect import Effects, TaskOutcome
from tinkwell.core.unit.kinds import CharmKind


class UnitApi(Protocol):
    """The calls of agents; `worker.UnitClient` describes them."""

    def wakes(
        self,
        lease_token: int,
        *,
        kinds: Iterable[CharmKind | str],
        machines: Iterable[str] = (),
        anywhere: bool = False,
        charm: str = "",
        namespace: str = "",
        application: str = "",
    ) -> AsyncIterator[tuple[str, ...]]:
        """Iterate over ids of units that may have something due, all of them at first."""

    async def next_event(self, lease_token: int, unit_id: str) -> Grant | NoEvent:
        """Get a unit's next event, or why there is none."""

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
        """End an event with its effects, or a task, and get the next event."""

    async def fail(
        self,
        lease_token: int,
        event_id: str,
        attempt: int,
        why: str,
        *,
        is_lost: bool = False,
        is_handed_back: bool = False,
    ) -> Grant | NoEvent:
        """Say that an attempt has failed, or with one of the flags that it was ended from outside."""

    async def read_bag(self, lease_token: int, event_id: str, relation: int, owner: str) -> Bag:
        """Read the bag of a unit or an application."""

    async def read_secret(
        self, lease_token: int, event_id: str, secret: str = "", *, label: str = "", revision: int = 0
    ) -> SecretContent:
        """Read a revision of a secret."""

    async def append_task_log(self, lease_token: int, task_id: str, number: int, lines: Iterable[str]) -> None:
        """Store log lines of a running task; the first one has this number."""

    async def set_status(
        self,
        lease_token: int,
        unit_id: str,
        *,
        status: UnitStatus | None = None,
        application_status: UnitStatus | None = None,
        workload_version: str | None = None,
    ) -> None:
        """Set a unit's statuses at once; None keeps the former one."""

    async def append_logs(self, lease_token: int, unit_id: str, lines: Iterable[UnitLogLine]) -> int:
        """Store lines of a unit's log."""

    def fetch_charm(self, lease_token: int, digest: str) -> AsyncIterator[bytes]:
        """Iterate over the parts of a charm's package."""
