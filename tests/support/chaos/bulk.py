"""Changes of many rows in one statement, which are known without being kept one by one."""

import random
import uuid
from collections.abc import Iterator, Sequence
from typing import overload

import asyncpg

from support.history.record import Change

# Machines that nobody else changes have ids that begin like this.
_PREFIX = 0xB01C_0000
_ANY = uuid.UUID(int=_PREFIX << 96), uuid.UUID(int=(_PREFIX + 1) << 96)
_FIRST = "SELECT id FROM hardware WHERE id >= $1 AND id < $2 AND deleted_at IS NULL ORDER BY id LIMIT 1"
# The last group of the id is the number of the row in hexadecimal digits.
_ID = "($1 || lpad(to_hex(n), 12, '0'))::uuid"
_INSERT = f"""
    INSERT INTO hardware (id, metadata)
    SELECT {_ID}, json_build_object('token', $2 || n) FROM generate_series(1, $3::int) AS n
"""
_UPDATE = f"""
    UPDATE hardware h SET metadata = json_build_object('token', $2 || n), deleted_at = CASE WHEN $4 THEN now() END
      FROM generate_series(1, $3::int) AS n WHERE h.id = {_ID}
"""
_PUBLISH = """
    SELECT count(publish_event('chaos.published', NULL, json_build_object('token', $1 || n), 'chaos'))
      FROM generate_series(1, $2::int) AS n
"""


class Changes(Sequence[Change]):
    """Changes that differ in their numbers alone; each is made when it is looked at."""

    def __init__(self, count: int, event_type: str, *, token: str, resource_id: str) -> None:
        self._count = count
        self._event_type = event_type
        self._token = token
        self._resource_id = resource_id

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Change: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Change]: ...
    def __getitem__(self, index: int | slice) -> Change | Sequence[Change]:
        numbers = range(1, self._count + 1)
        if isinstance(index, slice):
            return [self._make(number) for number in numbers[index]]
        return self._make(numbers[index])

    def __iter__(self) -> Iterator[Change]:
        return map(self._make, range(1, self._count + 1))

    def _make(self, number: int) -> Change:
        resource_id = f"{self._resource_id}{number:012x}" if self._resource_id else ""
        return Change(f"{self._token}{number}", self._event_type, resource_id)


class Bulk:
    """Inserts, updates and deletes machines, so many at a time, and publishes as many events.

    What there is to update or delete is what the database has, so that nothing needs to be known of lost commits.
    """

    def __init__(self, name: str, *, rows: int) -> None:
        self._name = name
        self._rows = rows
        self._count = 0

    async def change(self, connection: asyncpg.Connection, chance: random.Random) -> Sequence[Change]:
        """Make one of the changes in the transaction at hand, and return what it comes to."""
        self._count += 1
        token = f"chaos-{self._name}-{self._count}-"
        first = await connection.fetchrow(_FIRST, *_ANY)
        if first is None:
            return await self._insert_or_publish(connection, token, chance)
        # With a mark of its own, since a deletion that is rolled back or lost is made once more.
        machine, is_deleted = str(first[0])[:-12], chance.random() < 0.5
        await connection.execute(_UPDATE, machine, token, self._rows, is_deleted)
        kind = "DELETED" if is_deleted else "UPDATED"
        return Changes(self._rows, kind, token=token, resource_id=machine)

    async def _insert_or_publish(
        self, connection: asyncpg.Connection, token: str, chance: random.Random
    ) -> Sequence[Change]:
        if chance.random() < 0.25:
            await connection.execute(_PUBLISH, token, self._rows)
            return Changes(self._rows, "CUSTOM", token=token, resource_id="")
        machine = str(uuid.UUID(int=(_PREFIX << 96) | (self._count << 64)))[:-12]
        await connection.execute(_INSERT, machine, token, self._rows)
        return Changes(self._rows, "CREATED", token=token, resource_id=machine)
