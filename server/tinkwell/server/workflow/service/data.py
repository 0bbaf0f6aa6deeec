"""The document that a workflow's workers share: versions from 1, of which the newest keep their data."""

import dataclasses

from tinkwell.core import errors
from tinkwell.core.value import document, parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.workflow.store import data as workflow_data
from tinkwell.server.workflow.store import queries

# More than what Tinkerbell's worker can send in a message, with metadata that repeat it.
MAX_DATA_BYTES = 2 * 1024 * 1024
MAX_METADATA_BYTES = 1024 * 1024
KEPT_VERSIONS = 3

_MAX_VERSION = 2**31 - 1
_PARSERS = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """A version's text; empty and of version 0 where nothing was ever written."""

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
        """Return the data of a version, 0 for the latest; one that is not kept any more is not found."""
        found = await self._get(workflow_id, version)
        if found is None:
            return _NONE
        if found.data is None:
            raise errors.NotFound("WORKFLOW_DATA", f"{workflow_id} version {version}")
        return Document(found.data, found.number)

    async def get_metadata(self, workflow_id: str, version: int) -> Document:
        """Return the metadata of a version, 0 for the latest; it is kept when the data is not."""
        found = await self._get(workflow_id, version)
        return _NONE if found is None else Document(found.metadata, found.number)

    async def get_version(self, workflow_id: str) -> int:
        """Return the number of the latest version, 0 where there is none."""
        found = await self._get(workflow_id, 0)
        return 0 if found is None else found.number

    async def get_length(self, workflow_id: str) -> int:
        """Return the length in bytes of the longest data that is kept, 0 where there is none."""
        workflow_id = parse.parse_uuid("workflow_id", workflow_id)
        return await self._database.read(lambda connection: workflow_data.longest(connection, workflow_id))

    async def update(self, workflow_id: str, *, metadata: bytes, data: bytes, actor: str) -> int:
        """Write the next version and return its number. Both texts are kept as they are; no metadata means `{}`."""
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
