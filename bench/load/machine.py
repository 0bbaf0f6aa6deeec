"""Writers in Python: machines, each inserted by a transaction of its own over a connection of its writer's."""

import json
import uuid
from types import TracebackType
from typing import Self

import asyncpg

_TIMEOUT_SECONDS = 60
_INSERT = "INSERT INTO hardware (id, metadata, network) VALUES ($1, $2, $3)"
_ADDRESSES = 65_536


class Writer:
    """One connection. With a `number`, its machines have addresses, apart from those of other numbers."""

    def __init__(self, database_url: str, number: int | None = None) -> None:
        self._url = database_url
        self._number = number
        self._count = 0

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
        self._count += 1
        await self._insert.fetch(machine or uuid.uuid4(), metadata, self._network())

    def _network(self) -> str:
        if self._number is None:
            return "{}"
        place = self._number * _ADDRESSES + self._count
        octets = (10, place >> 16 & 255, place >> 8 & 255, place & 255)
        mac = f"{place:012x}"
        return json.dumps({"interfaces": [{"dhcp": {"mac": mac, "ip": {"address": ".".join(map(str, octets))}}}]})
