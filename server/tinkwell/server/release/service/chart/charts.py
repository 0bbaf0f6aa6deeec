"""Charts: uploaded, found and listed. An invalid chart is refused and not stored."""

import contextlib
import dataclasses
import re
from collections.abc import AsyncGenerator, Iterator

from tinkwell.core import errors
from tinkwell.core.release import record
from tinkwell.core.release.chart.file import archive, chart
from tinkwell.core.value import document, parse
from tinkwell.server.database import offload
from tinkwell.server.database.database import Database, Transaction
from tinkwell.server.release.store import chart as store

MAX_ARCHIVE_BYTES = archive.MAX_PACKED_BYTES
MAX_NAME_BYTES = 255
PART_BYTES = 1024 * 1024
# The number of charts that are loaded at once. Each may take as much memory as a chart may unpack to.
_LOADERS = 2
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedChart:
    """A chart, and its id in the database."""

    id: str
    chart: chart.Chart


class Charts:
    """Implements UploadChart, GetChart and ListCharts, and loads charts for other calls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._aside = offload.Aside(_LOADERS)

    async def upload(self, data: bytes, *, actor: str) -> record.Chart:
        """Store a chart, given as its archive. A chart that exists stays unchanged. Raises `errors.ChartInvalid`."""
        digest = await self._aside.run(archive.digest, data)
        await store.use(self._database.fetch, digest)
        if (known := await store.find(self._database.fetch, digest)) is not None:
            return known
        new = await self._aside.run(_read, digest, data)

        async def work(transaction: Transaction) -> record.Chart:
            transaction.changed = await store.insert(transaction, new)
            stored = await store.find(transaction.fetch, digest)
            assert stored is not None
            return stored

        return (await self._database.write(work, actor=actor)).value

    async def get(self, digest: str) -> record.Chart:
        """Return a chart. Raises `errors.InvalidField` and `errors.NotFound`."""
        digest = parse_digest("digest", digest)
        found = await store.find(self._database.fetch, digest)
        if found is None:
            raise errors.NotFound("CHART", digest)
        return found

    async def parts(self, digest: str) -> Iterator[bytes]:
        """Return the archive of a chart that `get` has found, in parts. Raises `errors.NotFound`."""
        found = await store.archive(self._database.fetch, digest)
        if found is None:
            raise errors.NotFound("CHART", digest)
        data = found.data
        return (data[start : start + PART_BYTES] for start in range(0, len(data), PART_BYTES))

    async def list_named(self, name: str) -> AsyncGenerator[record.Chart, None]:
        """Yield the charts with a name, or all charts if it is empty, without their metadata."""
        name = parse.parse_text("name", name, max_bytes=MAX_NAME_BYTES, allow_empty=True)
        async with (
            self._database.snapshot() as connection,
            contextlib.aclosing(store.list_charts(connection, name)) as charts,
        ):
            async for found in charts:
                yield found

    async def load(self, digest: str) -> LoadedChart:
        """Load a chart, and protect it from being forgotten for some time. Raises `errors.ChartUnknown`."""
        await store.use(self._database.fetch, digest)
        found = await store.archive(self._database.fetch, digest)
        if found is None:
            raise errors.ChartUnknown(digest)
        return LoadedChart(found.id, await self._aside.run(_load, found.data))


def parse_digest(field: str, text: str) -> str:
    """Check the digest of a chart. Raises `errors.InvalidField`."""
    if not _DIGEST.fullmatch(text):
        why = f"{parse.show(text)} is no digest of a chart; give sha256: and 64 hexadecimal digits"
        raise errors.InvalidField.of(field, why)
    return text


def _load(data: bytes) -> chart.Chart:
    return chart.load(archive.unpack(data))


def _read(digest: str, data: bytes) -> store.NewChart:
    loaded = _load(data)
    return store.NewChart(
        digest=digest,
        name=loaded.metadata.name,
        chart_version=loaded.metadata.version,
        metadata=document.dump_json(loaded.metadata.as_json()),
        warnings=[warning for each in chart.every(loaded) for warning in each.warnings],
        archive=data,
    )
