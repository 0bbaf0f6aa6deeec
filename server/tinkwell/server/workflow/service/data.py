"""The document that the workers of a workflow share.

Its versions are numbered from 1. Only the newest versions keep their data.
"""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.value import document, parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.store import data as workflow_data
from tinkwell.server.workflow.store import queries

# More than Tinkerbell's worker can send in a message, including metadata that repeat the data.
MAX_DATA_BYTES = 2 * 1024 * 1024
MAX_METADATA_BYTES = 1024 * 1024
KEPT_VERSIONS = 3

_MAX_VERSION = 2**31 - 1
_PARSERS = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """The text of a version. It is empty, and the version is 0, if nothing was ever written."""

    text: str
    version: int


_NONE = Document("", 0)


class WorkflowDataService:
    """Reads and writes versions. Every method raises `errors.InvalidField` and `errors.NotFound`."""

    def __init__(self, database: Database, *, kept_versions: int = KEPT_VERSIONS) -> None:
        self._database = database
        self._kept_versions = kept_versions
        self._aside = offload.Aside(_PARSERS)

    async def get_data(self, workflow_id: str, version: int) -> Document:
        """Return the data of a version, or of the latest one for 0. Raises `errors.NotFound` if it is not kept."""
        found = await self._get(workflow_id, version)
        if found is None:
            return _NONE
        if found.data is None:
            raise errors.NotFound("WORKFLOW_DATA", f"{workflow_id} version {version}")
        return Document(found.data, found.number)

    async def get_metadata(self, workflow_id: str, version: int) -> Document:
        """Return the metadata of a version, or of the latest one for 0. Metadata outlives the data."""
        found = await self._get(workflow_id, version)
        return _NONE if found is None else Document(found.metadata, found.number)

    async def get_version(self, workflow_id: str) -> int:
        """Return the number of the latest version, or 0 if there is none."""
        found = await self._get(workflow_id, 0)
        return 0 if found is None else found.number

    async def get_length(self, workflow_id: str) -> int:
        """Return the length in bytes of the longest data that is kept, or 0 if there is none."""
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        return await self._database.read(lambda connection: workflow_data.longest(connection, workflow_id))

    async def update(self, workflow_id: str, *, metadata: bytes, data: bytes, actor: str) -> int:
        """Write the next version and return its number. Both texts are stored unchanged; no metadata becomes `{}`."""
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        metadata_text = await self._aside.run(_parse, "metadata", metadata or b"{}", MAX_METADATA_BYTES)
        data_text = await self._aside.run(_parse, "data", data, MAX_DATA_BYTES)

        async def work(transaction: Transaction) -> int:
            transaction.changed = False
            connection = transaction.connection
            if not await workflow_data.lock_workflow(connection, workflow_id):
                raise errors.NotFound("WORKFLOW", workflow_id)
            return await workflow_data.append(
                connection, workflow_id, metadata=metadata_text, data=data_text, keep=self._kept_versions
            )

        return (await self._database.write(work, actor=actor)).value

    async def _get(self, workflow_id: str, version: int) -> workflow_data.Version | None:
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        version = parse.parse_int_range("version", version, low=0, high=_MAX_VERSION)

        found = await self._database.read(lambda connection: workflow_data.get(connection, workflow_id, version))
        if found is not None:
            return found
        if not await self._database.read(lambda connection: queries.exists(connection, workflow_id)):
            raise errors.NotFound("WORKFLOW", workflow_id)
        if version:
            raise errors.NotFound("WORKFLOW_DATA", f"{workflow_id} version {version}")
        return None


def _parse(field: str, text: bytes, max_bytes: int) -> str:
    document.parse_json(field, text, max_bytes=max_bytes)
    return text.decode()
