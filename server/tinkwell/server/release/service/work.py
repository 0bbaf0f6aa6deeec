"""All that an operation works on, for who carries it out."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator
from typing import TypeAlias

from tinkwell.core.lease import lease
from tinkwell.core.release.record import Operation, Release, Resource
from tinkwell.core.release.transition import operation as rules
from tinkwell.server.database.database import Database
from tinkwell.server.release.service import ending
from tinkwell.server.release.service.carrying import parse_operation
from tinkwell.server.release.store import lock, queries, work
from tinkwell.server.release.store.queries import NodeWithSteps

# A character has at most four bytes, and a part at most 1 MiB.
PART_CHARACTERS = 256 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document; parts of the same name are joined in their order."""

    name: str
    text: str


Part: TypeAlias = Operation | Release | DocumentPart | NodeWithSteps | Resource


class WorkReader:
    """GetWork."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, operation_id: str, lease_token: int) -> AsyncGenerator[Part, None]:
        """Yield the operation, its release, its documents piece by piece, its nodes, and the release's resources.

        Raises `errors.InvalidField`, `errors.NotFound`, and `errors.LeaseLost` for who does not hold the operation.
        """
        operation_id = parse_operation(operation_id, lease_token)
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
            async with contextlib.aclosing(work.documents(connection, operation_id)) as documents:
                async for name, text in documents:
                    for start in range(0, len(text), PART_CHARACTERS):
                        yield DocumentPart(name, text[start : start + PART_CHARACTERS])
            for node in await queries.list_nodes(connection, operation_id):
                yield node
            async with contextlib.aclosing(queries.list_resources(connection, release.id)) as resources:
                async for resource in resources:
                    yield resource
