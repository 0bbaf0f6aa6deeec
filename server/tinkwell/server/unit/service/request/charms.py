"""Charms: uploaded, found and listed. An invalid charm is refused and not stored."""

import contextlib
import tempfile
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from typing import BinaryIO, cast

from tinkwell.core import errors
from tinkwell.core.charm import package
from tinkwell.core.charm.record import Charm, StoredCharm
from tinkwell.core.value import parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Fetch, Transaction
from tinkwell.server.unit.store.request import charm as store

MAX_NAME_BYTES = 255
# The bytes that are read of a package that is too large, because a client that still writes may not learn the reason.
MAX_READ_BYTES = package.MAX_PACKED_BYTES + 64 * 1024 * 1024
# The number of uploads at once. Each may need as much disk space as a package, and be silent for a while.
MAX_UPLOADS = 16
# The number of packages that are checked at once. Reading a package takes seconds of a processor.
_CHECKS = 2
_MEMORY_BYTES = 4 * 1024 * 1024
_KEPT = 128
# Each upload deletes some of the charms that were not used for this long.
FORGET_SECONDS = 7 * 86_400.0
_MAX_FORGOTTEN = 20


class Charms:
    """Implements UploadCharm, GetCharm and ListCharms, and finds charms for other calls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._aside = offload.Aside(_CHECKS)
        self._disk = offload.Aside(MAX_UPLOADS)
        self._uploads = 0
        # A cache. Charms never change.
        self._known: OrderedDict[str, StoredCharm] = OrderedDict()

    async def upload(self, parts: AsyncIterator[bytes], *, actor: str) -> StoredCharm:
        """Store a charm, whose package comes in parts. A charm that exists stays unchanged.

        Raises `errors.CharmRefused`, and `errors.LimitReached` while many others are uploaded.
        """
        if self._uploads >= MAX_UPLOADS:
            raise errors.LimitReached(f"{MAX_UPLOADS} charms are being uploaded; try again")
        self._uploads += 1
        try:
            with tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES) as spooled:
                file = cast(BinaryIO, spooled)
                await self._receive(parts, file)
                return await self._store(file, actor=actor)
        finally:
            self._uploads -= 1

    async def get(self, digest: str) -> StoredCharm:
        """Return a charm. Raises `errors.InvalidField` and `errors.NotFound`."""
        return await self.find(package.parse_digest("digest", digest))

    async def use(self, digest: str) -> StoredCharm:
        """Return the charm with a digest, and keep it from being deleted for some time. Raises `errors.NotFound`."""
        self._known.pop(digest, None)
        await store.use(self._database.fetch, digest)
        return await self.find(digest)

    async def find(self, digest: str, fetch: Fetch | None = None) -> StoredCharm:
        """Return the charm with a digest. A caller in a transaction gives its `fetch`. Raises `errors.NotFound`."""
        if (known := self._known.get(digest)) is not None:
            self._known.move_to_end(digest)
            return known
        found = await store.find(fetch or self._database.fetch, digest)
        if found is None:
            raise errors.NotFound("CHARM", digest)
        self._known[digest] = found
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    async def list_named(self, name: str) -> AsyncGenerator[StoredCharm, None]:
        """Yield the charms with a name, or all if it is empty."""
        name = parse.parse_text("name", name, max_bytes=MAX_NAME_BYTES, allow_empty=True)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(store.list_charms(connection, name)) as charms,
        ):
            async for found in charms:
                yield found

    async def _receive(self, parts: AsyncIterator[bytes], file: BinaryIO) -> None:
        size = 0
        async for part in parts:
            size += len(part)
            if size <= package.MAX_PACKED_BYTES:
                await self._disk.run(file.write, part)
            elif size > MAX_READ_BYTES:
                break
        if size > package.MAX_PACKED_BYTES:
            most = f"{package.MAX_PACKED_BYTES:,}"
            raise errors.CharmRefused.of("package", f"has more than {most} bytes; leave large files out of the charm")
        if not size:
            raise errors.CharmRefused.of("package", "is empty; send the charm's folder as a zip")

    async def _store(self, file: BinaryIO, *, actor: str) -> StoredCharm:
        digest = await self._aside.run(package.digest, file)
        await store.use(self._database.fetch, digest)
        if (known := await store.find(self._database.fetch, digest)) is not None:
            return known
        new = await self._aside.run(package.check, file)

        async def work(transaction: Transaction) -> StoredCharm:
            charm_id = await store.insert(transaction, new)
            transaction.changed = charm_id is not None
            if charm_id is not None:
                await self._write_package(transaction, charm_id, new, file)
            stored = await store.find(transaction.fetch, digest)
            assert stored is not None
            return stored

        stored = (await self._database.write(work, actor=actor)).value
        await store.forget(self._database.fetch, age_seconds=FORGET_SECONDS, limit=_MAX_FORGOTTEN)
        return stored

    async def _write_package(self, transaction: Transaction, charm_id: str, new: Charm, file: BinaryIO) -> None:
        for number, start in enumerate(range(0, new.size, store.CHUNK_BYTES)):
            data = await self._disk.run(_read_at, file, start)
            await store.insert_chunk(transaction, charm_id, number, data)


def _read_at(file: BinaryIO, start: int) -> bytes:
    file.seek(start)
    return file.read(store.CHUNK_BYTES)
