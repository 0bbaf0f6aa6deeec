"""Reads all documents and rows that the owner of an operation needs."""

import base64
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Iterator
from typing import TypeAlias

from sqlalchemy.ext.asyncio import AsyncConnection

from tinkwell.core.lease import lease
from tinkwell.core.release.record import Operation, Release, Resource
from tinkwell.core.release.transition import operation as rules
from tinkwell.core.value import parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database
from tinkwell.server.release.service import ending
from tinkwell.server.release.service.carry.carrying import parse_operation
from tinkwell.server.release.service.carry.opened import OpenedWork
from tinkwell.server.release.service.document import Documents
from tinkwell.server.release.service.request import MAX_REVISION
from tinkwell.server.release.store import chart as charts
from tinkwell.server.release.store import lock, queries, work
from tinkwell.server.release.store.queries import NodeWithSteps

# A character has at most four bytes, and a part at most 1 MiB.
PART_CHARACTERS = 256 * 1024
_THREADS = 2


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document; parts of the same name are joined in their order."""

    name: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Secrets:
    """The secret texts of an operation."""

    texts: frozenset[str] = dataclasses.field(repr=False)


Part: TypeAlias = Operation | Release | Secrets | DocumentPart | NodeWithSteps | Resource


class WorkReader:
    """Implements GetWork. Only this call reads documents together with their secrets."""

    def __init__(self, database: Database, documents: Documents) -> None:
        self._database = database
        self._documents = documents
        self._aside = offload.Aside(_THREADS)

    async def read(self, operation_id: str, lease_token: int, *, revision: int = 0) -> AsyncGenerator[Part, None]:
        """Yield the operation, its release, its documents piece by piece, its nodes, and the release's resources.

        With a `revision`, the release is followed only by that revision's source, manifest and chart, as far as they
        exist. Raises `errors.InvalidField`, `errors.NotFound`, `errors.SecretsDisabled`, and `errors.LeaseLost` if the
        caller does not hold the operation.
        """
        operation_id = parse_operation(operation_id, lease_token)
        parse.parse_int_range("revision", revision, low=0, high=MAX_REVISION)
        found = await lock.state(self._database.fetch, operation_id, lease_token=lease_token)
        if found is None:
            raise ending.missing(operation_id)
        reporter = lease.Reporter(lease_token, found.own)
        rules.check_owner(found.operation, hold=found.hold, reporter=reporter, starts=False)
        operation = await queries.operation(self._database.fetch, operation_id)
        release = await queries.by_id(self._database.fetch, found.release_id)
        if operation is None or release is None:
            raise ending.missing(operation_id)
        yield operation
        yield release
        async with self._database.snapshot() as connection:
            parts = self._revision(connection, release.id, revision) if revision else self._all(connection, found)
            async with contextlib.aclosing(parts):
                async for part in parts:
                    yield part

    async def _all(self, connection: AsyncConnection, found: lock.Locked) -> AsyncGenerator[Part, None]:
        opened = await self._documents.open_work(connection, found) if found.has_secrets else OpenedWork()
        yield Secrets(opened.texts)
        async with contextlib.aclosing(work.documents(connection, found.operation.id)) as documents:
            async for name, text in documents:
                for part in _cut(name, await self._aside.run(opened.document, name, text)):
                    yield part
        for part in await self._chart(await charts.archive_of_operation(connection, found.operation.id)):
            yield part
        for node, steps in await queries.list_nodes(connection, found.operation.id):
            yield node, [opened.step(step) for step in steps]
        async with contextlib.aclosing(queries.list_resources(connection, found.release_id)) as resources:
            async for resource in resources:
                yield await self._aside.run(opened.resource, resource)

    async def _revision(
        self, connection: AsyncConnection, release_id: str, revision: int
    ) -> AsyncGenerator[Part, None]:
        documents = await work.revision(connection, release_id, revision)
        opened = await self._documents.open_revision(connection, release_id, revision) if documents else OpenedWork()
        for name, text in documents.items():
            for part in _cut(name, await self._aside.run(opened.document, name, text)):
                yield part
        for part in await self._chart(await charts.archive_of_revision(connection, release_id, revision)):
            yield part

    async def _chart(self, archive: bytes | None) -> Iterator[DocumentPart]:
        """Return the parts of the chart's document: the archive in Base64, or none if there is no chart."""
        if archive is None:
            return iter(())
        return _cut("chart", await self._aside.run(_encode, archive))


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _cut(name: str, text: str) -> Iterator[DocumentPart]:
    for start in range(0, len(text), PART_CHARACTERS):
        yield DocumentPart(name, text[start : start + PART_CHARACTERS])
