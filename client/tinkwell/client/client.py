"""The client: one connection, and a client for each service over it."""

import asyncio
from typing import Self

from grpc import aio

from tinkwell.client import backoff, call, channel, errors
from tinkwell.client.event.client import EventClient
from tinkwell.client.hardware.client import HardwareClient
from tinkwell.client.lease.client import WorkClient
from tinkwell.client.release.client import ReleaseClient
from tinkwell.client.template.client import TemplateClient
from tinkwell.client.unit.agent.worker import UnitClient
from tinkwell.client.unit.client import ApplicationClient
from tinkwell.client.unit.namespaces import NamespaceClient
from tinkwell.client.unit.secret.client import SecretClient
from tinkwell.client.workflow.client import WorkflowClient

# grpc.health.v1.Health/Check, asked about the whole server. The bytes are those of an empty request and of the answer
# SERVING; writing them out saves a dependency.
_HEALTH_METHOD = "/grpc.health.v1.Health/Check"
_SERVING = b"\x08\x01"


class Client:
    """The clients of all services, over one connection; `connect` makes it."""

    def __init__(self, caller: call.Caller) -> None:
        self._caller = caller
        self.hardware = HardwareClient(caller)
        self.templates = TemplateClient(caller)
        self.workflows = WorkflowClient(caller)
        self.releases = ReleaseClient(caller)
        self.applications = ApplicationClient(caller)
        self.namespaces = NamespaceClient(caller)
        self.secrets = SecretClient(caller)
        self.units = UnitClient(caller)
        self.work = WorkClient(caller)
        self.events = EventClient(caller)

    @property
    def address(self) -> str:
        """The address of the server, as `connect` was given it."""
        return self._caller.address

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; open calls and watches end with `errors.Closed`."""
        await self._caller.close()

    async def wait_ready(self, timeout_seconds: float = 30.0) -> None:
        """Wait until the server says that it is serving; raises `errors.Unavailable` with the last reason otherwise."""
        pause = backoff.Backoff(first_seconds=0.05, longest_seconds=1.0)
        failure: errors.Error | None = None
        try:
            async with asyncio.timeout(timeout_seconds):
                while True:
                    failure = await self._health()
                    if failure is None:
                        return
                    await asyncio.sleep(pause.next_seconds())
        except TimeoutError:
            reason = failure.message if failure else f"the server at {self.address} did not answer in time"
            raise errors.Unavailable(reason) from failure

    async def _health(self) -> errors.Error | None:
        check: aio.UnaryUnaryMultiCallable[bytes, bytes] = self._caller.channel.unary_unary(_HEALTH_METHOD)
        try:
            answer = await self._caller.unary(check, b"", may_repeat=False)
        except (errors.Unavailable, errors.DeadlineExceeded) as error:
            return error
        if answer == _SERVING:
            return None
        return errors.Unavailable(f"the server at {self.address} is not ready to serve")


def connect(
    address: str = f"localhost:{channel.DEFAULT_PORT}",
    *,
    token: str | None = None,
    tls: channel.TLS | None = None,
    actor: str | None = None,
    timeout_seconds: float = 30.0,
) -> Client:
    """Make a client for the server at an address, which connects at its first call.

        async with tinkwell.client.connect("localhost:50051") as client:
            machine = await client.hardware.by_mac("52:54:00:10:00:03")

    `token` is sent with each call as `authorization: Bearer`. Where the server needs no token, `actor` names the caller
    in the events that its calls cause. `timeout_seconds` limits each call with one answer, and in lists the wait for
    each item. Call `connect` in a running event loop; scripts without one use `tinkwell.client.blocking`. Raises
    `errors.InvalidField` for a wrong option.
    """
    asyncio.get_running_loop()
    checked = channel.check_address(address)
    caller = call.Caller(
        channel.open_channel(checked, tls), checked, token=token, actor=actor, timeout_seconds=timeout_seconds
    )
    return Client(caller)
