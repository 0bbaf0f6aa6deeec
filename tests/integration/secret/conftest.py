"""A database of sealed values, and servers' services with different keys over it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import asyncpg
import pytest

from tinkwell.core.value.document import JsonValue
from tinkwell.server.database import engine
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.seal import Owner
from tinkwell.server.secret.service.operations import Document, Opened, SecretService

T = TypeVar("T")

FIRST, SECOND, LOST = (Key.of(bytes([number]) * 32) for number in (1, 2, 3))
OPERATION = Owner("operation", "5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a01")


@dataclass(frozen=True)
class Vault:
    """A service with its keys, each call in a transaction of its own, and the owner's connection beside it."""

    database: Database
    service: SecretService
    owner: asyncpg.Connection

    def with_keys(self, *keys: Key) -> "Vault":
        """Return the same database for a server with other keys, or with none."""
        return Vault(self.database, SecretService(Keys(keys) if keys else None), self.owner)

    async def seal(
        self, documents: dict[str, Document], *, owner: Owner = OPERATION, secrets: frozenset[str] = frozenset()
    ) -> dict[str, JsonValue]:
        return await self.write(lambda found: self.service.seal(found, owner, documents, secrets=secrets))

    async def opened(self, owner: Owner = OPERATION) -> dict[str, Opened]:
        return await self.database.read(lambda connection: self.service.open(connection, owner))

    async def open(self, owner: Owner = OPERATION) -> dict[str, list[tuple[str, JsonValue]]]:
        return {name: [*found.values] for name, found in (await self.opened(owner)).items()}

    async def texts(self, *owners: Owner) -> frozenset[str]:
        return await self.database.read(lambda connection: self.service.texts(connection, owners or [OPERATION]))

    async def write(self, work: Callable[..., Awaitable[T]]) -> T:
        async def once(transaction: Transaction) -> T:
            transaction.changed = False
            return await work(transaction.connection)

        return (await self.database.write(once, actor="a test")).value

    async def rows(self) -> list[tuple[str, str, str, bytes]]:
        """Return all that is stored: the owner's id, document, pointer, and the id of the key."""
        found = await self.owner.fetch(
            "SELECT owner_id, document, pointer, substring(sealed FROM 2 FOR 8) FROM sealed_value ORDER BY id"
        )
        return [tuple(row) for row in found]


@pytest.fixture
async def vault(database_url: str, server_url: str) -> AsyncIterator[Vault]:
    pool = engine.create(server_url, pool_size=5)
    owner = await asyncpg.connect(database_url)
    yield Vault(Database(pool), SecretService(Keys([FIRST])), owner)
    await owner.close(timeout=5)
    await pool.dispose()
