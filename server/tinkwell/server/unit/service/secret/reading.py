"""Implements ReadSecret: a unit reads a secret in an event or a task."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core import errors
from tinkwell.core.unit import secret
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database
from tinkwell.server.secret.service.operations import SecretService
from tinkwell.server.unit.service.delivery import fence
from tinkwell.server.unit.service.secret import sealed
from tinkwell.server.unit.store.agent import reading as running
from tinkwell.server.unit.store.secret import reading as store
from tinkwell.server.unit.store.secret.reading import Found

MAX_REVISION = 2**63 - 1


class SecretReading:
    """Opens secrets for units."""

    def __init__(self, database: Database, sealing: SecretService) -> None:
        self._database = database
        self._sealing = sealing

    async def read(
        self, event_id: str, *, name: str, label: str, revision: int, lease_token: int
    ) -> tuple[str, int, Mapping[str, str]]:
        """Return the name of a secret, a revision of it, 0 for the newest, and its content.

        Raises `errors.InvalidField`, `errors.LeaseLost` for an event or a task that does not run under the lease,
        `errors.NotFound` for a secret that the unit may not read or that does not exist, and `errors.SecretsDisabled`.
        """
        checks = check.Checks()
        event_id = checks.take(parse.parse_uuid, "event_id", event_id)
        if bool(name) == bool(label):
            checks.refuse("id", "give the id of a secret, or its label, and not both")
        elif name:
            checks.take(secret.parse_id, "id", name)
        else:
            checks.take(secret.parse_label, "label", label)
        checks.take(parse.parse_int_range, "revision", revision, low=0, high=MAX_REVISION)
        checks.finish()
        fence.parse_token(lease_token)
        fetch = self._database.fetch
        found = await store.find(fetch, event_id, lease_token=lease_token, name=name, label=label, revision=revision)
        if found is None:
            if not await running.is_running(fetch, event_id, lease_token=lease_token):
                raise errors.LeaseLost(lease_token, f"unit event or task {event_id} does not run under it")
            raise errors.NotFound("SECRET", name or f"labelled {parse.show(label)}")
        return found.name, *await self._open(found, revision)

    async def _open(self, found: Found, asked: int) -> tuple[int, Mapping[str, str]]:
        revision = found.revision
        if revision is None:
            raise errors.NotFound("SECRET", f"{found.name} in revision {asked}")

        async def work(connection: AsyncConnection) -> Mapping[str, str]:
            return await sealed.get(self._sealing, connection, found.id, revision)

        return revision, await self._database.read(work)
