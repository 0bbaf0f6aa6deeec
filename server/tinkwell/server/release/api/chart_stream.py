"""UploadChart on the wire: an archive is received in parts, up to the size limit."""

from collections.abc import AsyncIterator

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.release.api import stream
from tinkwell.server.release.service.chart.charts import MAX_ARCHIVE_BYTES


async def receive(
    requests: AsyncIterator[pb.UploadChartRequest], *, silence_seconds: float = stream.SILENCE_SECONDS
) -> bytes:
    """Read an archive.

    An archive that is too large is refused at the end of the stream, because a client that still writes may not learn
    the reason; after `stream.MAX_READ_BYTES` it is refused at once. Raises `errors.ChartInvalid`, and `errors.TooSlow`
    if no part comes in time.
    """
    parts: list[bytes] = []
    size = 0
    while (request := await stream.read(requests, silence_seconds)) is not None:
        size += len(request.data)
        if size <= MAX_ARCHIVE_BYTES:
            parts.append(request.data)
        else:
            parts.clear()
        if size > stream.MAX_READ_BYTES:
            break
    if size > MAX_ARCHIVE_BYTES:
        why = f"has more than the {MAX_ARCHIVE_BYTES:,} bytes that are allowed; leave large files out of the chart"
        raise errors.ChartInvalid.of("archive", why)
    if not size:
        raise errors.ChartInvalid.of("archive", "is empty; send the chart as a .tgz")
    return b"".join(parts)
