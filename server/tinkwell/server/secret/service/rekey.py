"""Seals anew, by the first key, what other keys have sealed, beside servers that work.

Values are taken in batches, each in a transaction of its own. A value that somebody has sealed meanwhile is left alone.
Nothing has to be kept of how far it came: what is left is what other keys have sealed, so it can be stopped and begun
again at any time.
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
# Servers may go on to seal by another key while this works; after so many rounds it is for a person to look.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many values were sealed anew by the first key, and how many others have sealed. Ids are hexadecimal."""

    key: str
    sealed: int
    # By keys that the file lacks.
    unknown: Mapping[str, int]
    # By other keys of the file than the first one: what was tampered with, and what servers have sealed meanwhile.
    left: Mapping[str, int]
    # How many of all these were tampered with.
    broken: int


class Rekey:
    """One run over all sealed values."""

    def __init__(self, database: Database, known: Keys) -> None:
        self._database = database
        self._keys = known
        self._sealed = 0
        self._broken = 0

    async def run(self) -> Outcome:
        """Seal anew. Raises `errors.Unavailable` when the database is out of reach; begin again then."""
        for _ in range(_ROUNDS):
            before, self._broken = self._sealed, 0
            for id_ in await self._former():
                if (key := self._keys.find(id_)) is not None:
                    await self._rekey(key)
            if self._sealed == before:
                break
        return await self._outcome()

    async def _former(self) -> Sequence[bytes]:
        """Return the ids of all keys but the first one that have sealed something, also of those that nobody has."""
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
