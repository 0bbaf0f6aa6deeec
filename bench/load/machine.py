"""Writers in Python: machines that nobody has inspected yet, each inserted by a transaction of its own."""

import uuid
from types import TracebackType
from typing import Self

import asyncpg

_TIMEOUT_SECONDS = 60
_INSERT = "INSERT INTO hardware (id, metadata) VALUES ($1, $2)"


class Writer:
    """One connection."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def __aenter__(self) -> Self:
        self._connection = await asyncpg.connect(self._url, timeout=_TIMEOUT_SECONDS, command_timeout=_TIMEOUT_SECONDS)
        self._insert = await self._connection.prepare(_INSERT)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.terminate()

    async def insert(self, metadata: str, machine: uuid.UUID | None = None) -> None:
        """Insert a machine and return when it is committed: one round trip."""
        await self._insert.fetch(machine or uuid.uuid4(), metadata)
