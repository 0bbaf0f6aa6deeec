"""The client of charts: uploads, lists and fetches them, and passes them to calls that install them."""

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeAlias, TypeVar

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.client import errors
from tinkwell.client.release import message
from tinkwell.client.release.model import Chart
from tinkwell.client.release.worker import ReleaseWorker
from tinkwell.client.value import field
from tinkwell.core import errors as core_errors
from tinkwell.core.release.chart.file import archive

T = TypeVar("T")

# A chart: the path of its folder or archive, the bytes of an archive, or the digest of a chart that the server has.
ChartLike: TypeAlias = "bytes | str | os.PathLike[str]"

_PACKAGE = "tinkwell.client.release.package"
_PART_BYTES = 1024 * 1024


class ChartClient(ReleaseWorker):
    """Uploads charts, lists and fetches them."""

    async def upload_chart(self, chart: "bytes | str | os.PathLike[str]") -> Chart:
        """Store a chart, given as the path of its folder or archive, or as the bytes of an archive.

            chart = await client.releases.upload_chart("./shop")

        A chart that the server has already is returned as it is. The server deletes a chart after a day if no release
        uses it. Raises `ChartInvalid` with the file of each mistake, and `OSError` for a path that cannot be read.
        """
        data = await _read(chart)

        def requests() -> Iterator[pb.UploadChartRequest]:
            for start in range(0, len(data), _PART_BYTES):
                yield pb.UploadChartRequest(data=data[start : start + _PART_BYTES])

        return message.chart(await self._caller.upload(self._stub.UploadChart, requests, may_repeat=True))

    async def chart(self, digest: str) -> Chart:
        """Get a chart with its metadata; raises `NotFound`."""
        request = field.build(pb.GetChartRequest, digest=digest)
        parts = [part async for part in self._list(self._stub.GetChart, request, lambda answer: answer)]
        if not parts:
            raise errors.Error("the server sent no chart")
        return message.chart(parts[0].chart)

    async def chart_archive(self, digest: str) -> bytes:
        """Get the archive of the chart with this digest; raises `NotFound`."""
        request = field.build(pb.GetChartRequest, digest=digest, with_archive=True)
        parts = [part.data async for part in self._list(self._stub.GetChart, request, lambda answer: answer)]
        data = b"".join(parts)
        if archive.digest(data) != digest:
            raise errors.Error(f"the server sent another archive than that of chart {digest}")
        return data

    def charts(self, name: str = "") -> AsyncIterator[Chart]:
        """Iterate over charts without their metadata, by name, then newest first; an empty `name` means all."""
        request = field.build(pb.ListChartsRequest, name=name)
        return self._list(self._stub.ListCharts, request, message.chart)

    async def _with_chart(self, chart: ChartLike, call: Callable[[str], Awaitable[T]]) -> T:
        """Make a call with the digest of a chart; the chart is uploaded first if the server does not have it."""
        if isinstance(chart, str) and chart.startswith(archive.DIGEST):
            return await call(chart)
        data = await _read(chart)
        digest = await asyncio.to_thread(archive.digest, data)
        try:
            return await call(digest)
        except errors.ChartUnknown:
            await self.upload_chart(data)
            return await call(digest)


async def _read(chart: ChartLike) -> bytes:
    if isinstance(chart, bytes):
        return chart
    try:
        return await asyncio.to_thread(_pack, Path(chart))
    except core_errors.ChartInvalid as error:
        raise errors.ChartInvalid.of_all(error.violations) from error


def _pack(path: Path) -> bytes:
    # The package module loads a YAML library, which callers without charts do not need.
    read: Callable[[Path], bytes] = importlib.import_module(_PACKAGE).read
    return read(path)
