"""Deletes everything that a lost key has sealed, within transactions of other rooms.

The documents then have null in place of the values. For owners of some kinds a mark is stored that there was more
(`Opened.has_forgotten`), so that nobody takes the rest for the whole.
"""

from collections.abc import Collection, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.secret.seal import Sealed
from tinkwell.server.secret.service.operations import FORGOTTEN, TEXTS
from tinkwell.server.secret.store import queries


async def sealed_by(connection: AsyncConnection, key: bytes) -> Sequence[Sealed]:
    """Return the documents with values that a key, given by its id, has sealed, in the order of their owners."""
    return await queries.of_key(connection, key, texts=TEXTS)


async def forget(connection: AsyncConnection, key: bytes, *, marked_kinds: Collection[str]) -> None:
    """Delete everything that a key has sealed, and mark the affected documents of owners of some kinds."""
    await queries.mark(connection, key, pointer=FORGOTTEN, texts=TEXTS, kinds=sorted(marked_kinds))
    await queries.forget(connection, key)
