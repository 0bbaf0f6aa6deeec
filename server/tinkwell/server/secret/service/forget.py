"""Forgets what a key has sealed that is lost, within transactions of other rooms.

Where a value stood its document has null from then on, as it had before. Of owners of some kinds it is kept that there
was more (`Opened.has_forgotten`), so that nobody takes what is left for the whole.
"""

from collections.abc import Collection, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.server.secret.seal import Sealed
from tinkwell.server.secret.service.operations import FORGOTTEN, TEXTS
from tinkwell.server.secret.store import queries


async def sealed_by(connection: AsyncConnection, key: bytes) -> Sequence[Sealed]:
    """Return the documents of which a key has sealed something, by its id, in the order of their owners."""
    return await queries.of_key(connection, key, texts=TEXTS)


async def forget(connection: AsyncConnection, key: bytes, *, marked_kinds: Collection[str]) -> None:
    """Delete all that a key has sealed, and mark the documents of owners of some kinds of which values are gone."""
    await queries.mark(connection, key, pointer=FORGOTTEN, texts=TEXTS, kinds=sorted(marked_kinds))
    await queries.forget(connection, key)
