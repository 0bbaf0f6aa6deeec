"""Seals with the first key what other keys have sealed, while servers run.

Values are taken in batches, each in a transaction of its own. A value that has changed in the meantime is left alone.
No progress is stored: the values that are left are those of other keys, so a run can be stopped and started again at
any time.
"""

import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.secret import seal
from tinkwell.server.secret.keys import Key, Keys
from tinkwell.server.secret.store import queries

logger = logging.getLogger(__name__)

MAX_ROWS = 500
MAX_BYTES = 8 << 20
# Servers may still seal with another key during a run. After this many rounds an operator has to look.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The number of values that were sealed again with the first key, and those that were not. Ids are hexadecimal."""

    key: str
    sealed: int
    # Values of keys that the file lacks, by key.
    unknown: Mapping[str, int]
    # Values of the file's other keys, by key: tampered ones, and those that servers have just sealed.
    left: Mapping[str, int]
    # The number of tampered values among these.
    broken: int


class Rekey:
    """One run over all sealed values."""

    def __init__(self, database: Database, known: Keys) -> None:
        self._database = database
        self._keys = known
        self._sealed = 0
        self._broken = 0

    async def run(self) -> Outcome:
        """Seal all values again. Raises `errors.Unavailable` if the database cannot be reached; start again then."""
        for _ in range(_ROUNDS):
            before, self._broken = self._sealed, 0
            for id_ in await self._former():
                if (key := self._keys.find(id_)) is not None:
                    await self._rekey(key)
            if self._sealed == before:
                break
        return await self._outcome()

    async def _former(self) -> Sequence[bytes]:
        """Return the ids of all keys but the first that have sealed values, including unknown keys."""
        return [id_ for id_ in await self._database.read(queries.keys) if id_ != self._keys.first.id]

    async def _rekey(self, key: Key) -> None:
        after = 0
        while rows := await self._database.read(functools.partial(_batch, key=key, after=after)):
            after = rows[-1].id
            changed = [(row, sealed) for row in rows if (sealed := self._sealed_anew(row)) is not None]
            self._sealed += await self._replace(changed)
            logger.info("values are being sealed anew", extra={"done": self._sealed})

    def _sealed_anew(self, row: queries.Row) -> bytes | None:
        try:
            value = seal.open_sealed(self._keys, row.place, row.sealed)
        except seal.NotOpened:
            self._broken += 1
            return None
        return seal.seal(self._keys.first, row.place, value)

    async def _replace(self, changed: Sequence[tuple[queries.Row, bytes]]) -> int:
        async def work(transaction: Transaction) -> int:
            transaction.changed = False
            return await queries.replace(transaction.connection, changed)

        return (await self._database.write(work, actor="")).value

    async def _outcome(self) -> Outcome:
        unknown: dict[str, int] = {}
        left: dict[str, int] = {}
        for id_ in await self._former():
            count = await self._database.read(functools.partial(queries.count, key=id_))
            (unknown if self._keys.find(id_) is None else left)[id_.hex()] = count
        return Outcome(self._keys.first.id.hex(), self._sealed, unknown, left, self._broken)


async def _batch(connection: AsyncConnection, *, key: Key, after: int) -> list[queries.Row]:
    return await queries.batch(connection, key.id, after=after, max_rows=MAX_ROWS, max_bytes=MAX_BYTES)
