"""The environment of operations: the server, this machine, and the operator's settings."""

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
    """The calls of the server that operations need."""

    def unfinished(self, namespaces: Iterable[str] = ()) -> AsyncIterator[UnfinishedOperation]:
        """Iterate over the unfinished operations in these namespaces, or in all."""

    def watch(
        self, *, now: bool, resource_types: Collection[ResourceType], on_created: Callable[[object], None]
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Watch events; calls back each time a connection is live."""

    async def operation(self, id: str) -> Operation:  # noqa: A002
        """Get an operation; raises `NotFound`."""

    async def acquire(self, operation_id: str, lease_token: int) -> Acquired:
        """Take an operation."""

    async def work(self, operation_id: str, lease_token: int, *, revision: int = 0) -> Work:
        """Get the input of an operation; with a `revision`, only that revision's manifest and chart."""

    async def submit_plan(
        self, operation_id: str, lease_token: int, *, manifest: str, late: str, plan: str, has_plugs: bool
    ) -> Submitted:
        """Store the plan of an operation."""

    async def report(self, operation_id: str, lease_token: int, reports: Sequence[Report]) -> Operation:
        """Store reports about an operation; a repeated call changes nothing."""

    async def append_logs(self, operation_id: str, lines: Iterable[StepLogLine]) -> int:
        """Store output lines; a line that is already stored stays as it is, unless it was open."""

    def nodes(self, operation_id: str) -> AsyncIterator[Node]:
        """Iterate over an operation's nodes with their steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The objects that all operations of a provisioner share. `folder` contains one folder for each release id."""

    api: ReleaseApi
    lease: Keeper
    runtime: port.Runtime
    claims: run_claim.Claims
    folder: Path
    grants: Sequence[Grant]
    images: ImagePolicy
    places: Places
    keys: Keys
    # For the child processes that evaluate expressions and check schemas of untrusted authors.
    room: Room
    # The objects that carry out core events, and the installed Python listeners of all other events.
    lifecycle: Lifecycle
    # Makes these child processes.
    make_child: Callable[..., Child] = Child
