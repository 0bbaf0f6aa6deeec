"""Archives that come in parts, up to what is allowed."""

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core import errors
from tinkwell.server.release.api import chart_stream, stream
from tinkwell.server.release.service.chart.charts import MAX_ARCHIVE_BYTES

PART = bytes(1024 * 1024)


async def requests(parts: Iterable[bytes], read: list[int]) -> AsyncIterator[pb.UploadChartRequest]:
    for part in parts:
        read.append(len(part))
        yield pb.UploadChartRequest(data=part)


async def test_an_archive_is_put_together_from_its_parts() -> None:
    assert await chart_stream.receive(requests([b"a", b"", b"bc"], [])) == b"abc"
    whole = await chart_stream.receive(requests([PART] * 8, []))
    assert len(whole) == MAX_ARCHIVE_BYTES


@pytest.mark.parametrize("parts", [[], [b""], [PART] * 9], ids=["none", "empty", "large"])
async def test_what_is_wrong_is_told_once_the_client_has_written_all(parts: list[bytes]) -> None:
    read: list[int] = []
    with pytest.raises(errors.ChartInvalid) as caught:
        await chart_stream.receive(requests(parts, read))
    assert [violation.field for violation in caught.value.violations] == ["archive"]
    assert len(read) == len(parts)


async def test_a_stream_without_end_is_not_read_for_ever() -> None:
    def endless() -> Iterable[bytes]:
        while True:
            yield PART

    read: list[int] = []
    with pytest.raises(errors.ChartInvalid):
        await chart_stream.receive(requests(endless(), read))
    assert sum(read) <= stream.MAX_READ_BYTES + len(PART)


async def test_a_client_that_falls_silent_is_not_waited_for() -> None:
    async def silent() -> AsyncIterator[pb.UploadChartRequest]:
        yield pb.UploadChartRequest(data=b"a")
        await asyncio.Event().wait()

    with pytest.raises(errors.TooSlow):
        await chart_stream.receive(silent(), silence_seconds=0.01)
