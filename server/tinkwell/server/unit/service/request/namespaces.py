"""Implements SetNamespace, GetNamespace and ListNamespaces."""

import contextlib
from collections.abc import AsyncGenerator

from tinkwell.core import errors
from tinkwell.core.release import name as namespaces
from tinkwell.core.unit.record import Namespace
from tinkwell.core.value import check, parse
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.unit.store.request import namespace as store

MIN_UPDATE_STATUS_SECONDS = 10
MAX_UPDATE_STATUS_SECONDS = 3_600
MAX_EVENT_TIMEOUT_SECONDS = 86_400


class Namespaces:
    """Changes and reads the settings of namespaces."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(
        self,
        name: str,
        *,
        update_status_seconds: int | None,
        event_timeout_seconds: int | None,
        is_retrying: bool | None,
        actor: str,
    ) -> Namespace:
        """Change the settings that are not None, and create the namespace if it does not exist.

        Raises `errors.InvalidField`.
        """
        checks = check.Checks()
        name = checks.take(namespaces.parse_namespace, "name", name)
        if update_status_seconds is not None:
            low, high = MIN_UPDATE_STATUS_SECONDS, MAX_UPDATE_STATUS_SECONDS
            checks.take(parse.parse_int_range, "update_status_seconds", update_status_seconds, low=low, high=high)
        if event_timeout_seconds is not None:
            high = MAX_EVENT_TIMEOUT_SECONDS
            checks.take(parse.parse_int_range, "event_timeout_seconds", event_timeout_seconds, low=1, high=high)
        checks.finish()

        async def work(transaction: Transaction) -> Namespace:
            is_new = await store.ensure(transaction, name)
            is_changed = await store.change(
                transaction,
                name,
                update_status_seconds=update_status_seconds,
                event_timeout_seconds=event_timeout_seconds,
                is_retrying=is_retrying,
            )
            transaction.changed = is_new or is_changed
            found = await store.find(transaction.fetch, name)
            assert found is not None
            return found

        return (await self._database.write(work, actor=actor)).value

    async def get(self, name: str) -> Namespace:
        """Return a namespace. Raises `errors.InvalidField` and `errors.NotFound`."""
        name = namespaces.parse_namespace("name", name)
        found = await store.find(self._database.fetch, name)
        if found is None:
            raise errors.NotFound("NAMESPACE", name)
        return found

    async def list_all(self) -> AsyncGenerator[Namespace, None]:
        """Yield all namespaces by name."""
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(store.list_all(connection)) as found,
        ):
            async for namespace in found:
                yield namespace
