"""What operations are carried out with: the server, this machine, and what its operator allows."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tinkwell.client.lease.keeper import Keeper
from tinkwell.client.release.model import (
    Acquired,
    Node,
    Operation,
    StepLogLine,
    Submitted,
    UnfinishedOperation,
    Work,
)
from tinkwell.client.watch.event import Event
from tinkwell.core.event.kinds import ResourceType
from tinkwell.core.release.report import Report
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.release.call.image_policy import ImagePolicy
from tinkwell.provisioner.release.call.plug import Grant
from tinkwell.provisioner.release.lifecycle.listener import Lifecycle
from tinkwell.provisioner.release.place import Keys, Places
from tinkwell.provisioner.runtime import port
from tinkwell.sandbox.child import Child
from tinkwell.sandbox.room import Room


class ReleaseApi(Protocol):
    """What carrying operations out needs of the server."""

    def unfinished(self, namespaces: Iterable[str] = ()) -> AsyncIterator[UnfinishedOperation]:
        """Iterate over the operations that have not ended, in these namespaces or in all."""

    def watch(
        self, *, now: bool, resource_types: Collection[ResourceType], on_created: Callable[[object], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Watch events; calls back each time a connection is live."""

    async def operation(self, id: str) -> Operation:  # noqa: A002
        """Get an operation; raises `NotFound`."""

    async def acquire(self, operation_id: str, lease_token: int) -> Acquired:
        """Take an operation."""

    async def work(self, operation_id: str, lease_token: int, *, revision: int = 0) -> Work:
        """Get all that an operation works on, or of the documents the manifest of a revision."""

    async def submit_plan(
        self, operation_id: str, lease_token: int, *, manifest: str, late: str, plan: str, has_plugs: bool
    ) -> Submitted:
        """Store what an operation is going to do."""

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        """Say what becomes of an operation; a repetition changes nothing."""

    async def append_logs(self, operation_id: str, lines: Iterable[StepLogLine]) -> int:
        """Store output lines; those that are there already are left as they are."""

    def nodes(self, operation_id: str) -> AsyncIterator[Node]:
        """Iterate over an operation's nodes with their steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What all operations of a provisioner share. `folder` has the folders of releases by their ids."""

    api: ReleaseApi
    lease: Keeper
    runtime: port.Runtime
    claims: run_claim.Claims
    folder: Path
    grants: Sequence[Grant]
    images: ImagePolicy
    places: Places
    keys: Keys
    # For the children in which what strangers wrote is evaluated and checked.
    room: Room
    # Who carries core events out, and what is installed beside this program that hears the others.
    lifecycle: Lifecycle
    # Makes the children that evaluate expressions and check schemas.
    make_child: Callable[..., Child] = Child
