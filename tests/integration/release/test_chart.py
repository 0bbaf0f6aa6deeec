"""Charts are stored once, by what their archives are, and for as long as something names them."""

import asyncio
import gzip
import io
import tarfile
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support import chart_archive, edge
from support.release_site import Site
from tinkwell.api.v1 import release_service_pb2 as pb
from tinkwell.core.release.chart.file import archive
from tinkwell.server.release.api import stream

SHOP = chart_archive.packed(values={"size": 1})
MIB = 1024 * 1024


async def parts(data: bytes, size: int = 100_000) -> AsyncIterator[pb.UploadChartRequest]:
    for start in range(0, len(data), size):
        yield pb.UploadChartRequest(data=data[start : start + size])


async def upload(site: Site, data: bytes = SHOP) -> pb.Chart:
    return await site.stub.UploadChart(parts(data))


async def refused(site: Site, requests: AsyncIterator[pb.UploadChartRequest]) -> edge.Refusal:
    """Upload what is refused, and leaves nothing behind."""
    told = await edge.refused(site.stub.UploadChart(requests))
    assert await site.sql.fetchval("SELECT count(*) FROM chart") == 0
    assert await site.events() == []
    return told


async def install(site: Site, *, name: str = "shop", chart: bytes = SHOP, **more: object) -> pb.Operation:
    fields = {"operation_id": str(uuid.uuid4()), "name": name, "chart": archive.digest(chart), **more}
    return await site.stub.Install(pb.InstallRequest(**fields))  # type: ignore[arg-type]  # of many types


async def age(site: Site) -> None:
    """Let all charts be unused for more than a day, and have somebody look."""
    await site.sql.execute("UPDATE chart SET used_at = clock_timestamp() - interval '25 hours'")
    async for _ in site.stub.ListUnfinished(pb.ListUnfinishedOperationsRequest()):
        pass


async def left(site: Site) -> list[str]:
    rows = await site.sql.fetch("SELECT digest FROM chart ORDER BY digest")
    return [row["digest"] for row in rows]


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """An archive that no chart is packed as."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def link(name: str, target: str) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = tarfile.SYMTYPE, target
    return found


def device(name: str) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type = tarfile.CHRTYPE
    return found


HOSTILE = {
    "nothing": b"",
    "no archive": b"PK\3\4 this is no gzip",
    "cut off": SHOP[: len(SHOP) // 2],
    "a bomb": gzip.compress(bytes(200 * MIB), compresslevel=9),
    "a link": tarred((tarfile.TarInfo("shop/Chart.yaml"), b"name: shop"), (link("shop/files/x", "/etc/passwd"), b"")),
    "a way out": tarred((tarfile.TarInfo("shop/../../etc/cron.d/x"), b"* * * * * root true")),
    "a device": tarred((tarfile.TarInfo("shop/Chart.yaml"), b"name: shop"), (device("shop/files/x"), b"")),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
async def test_what_is_no_chart_is_refused_and_leaves_nothing(site: Site, data: bytes) -> None:
    told = await refused(site, parts(data))
    assert (told.code.name, told.reason) == ("INVALID_ARGUMENT", "CHART_INVALID")
    assert told.fields


async def test_a_stream_without_end_is_ended(site: Site) -> None:
    # One that still writes when its call ends may not learn why: then gRPC's library has an error of its own for it.
    is_refused = asyncio.Event()

    async def endless() -> AsyncIterator[pb.UploadChartRequest]:
        for _ in range(stream.MAX_READ_BYTES // MIB + 1):
            yield pb.UploadChartRequest(data=bytes(MIB))
        await is_refused.wait()

    told = await refused(site, endless())
    is_refused.set()
    assert (told.reason, list(told.fields)) == ("CHART_INVALID", ["archive"])


async def test_a_chart_that_is_uploaded_by_many_at_once_is_stored_once(site: Site) -> None:
    found = await asyncio.gather(*(upload(site) for _ in range(5)))
    assert {chart.id for chart in found} == {found[0].id}
    assert await site.events() == ["chart.created shop"]
    assert await left(site) == [archive.digest(SHOP)]


async def test_a_chart_comes_back_as_it_was_sent(site: Site) -> None:
    # Its text can hardly be compressed, so that the archive has several parts.
    data = chart_archive.packed(template="# " + "".join(uuid.uuid4().hex for _ in range(150_000)))
    stored = await upload(site, data)
    assert stored.size == len(data) > 2 * MIB
    request = pb.GetChartRequest(digest=stored.digest, with_archive=True)
    chart, *rest = [each async for each in site.stub.GetChart(request)]
    assert (chart.chart, b"".join(each.data for each in rest)) == (stored, data)
    assert len(rest) > 1


@pytest.mark.parametrize("digest", ["", "sha256:", "SHA256:" + "0" * 64, "sha256:" + "g" * 64, "../x"])
async def test_what_is_no_digest_is_refused(site: Site, digest: str) -> None:
    told = await edge.refused(_first(site.stub.GetChart(pb.GetChartRequest(digest=digest))))
    assert (told.reason, list(told.fields)) == ("INVALID_FIELD", ["digest"])
    told = await edge.refused(
        site.stub.Install(pb.InstallRequest(operation_id=str(uuid.uuid4()), name="shop", chart=digest))
    )
    assert list(told.fields) == ["chart"]


async def test_a_chart_that_nothing_names_is_forgotten_after_a_day(site: Site) -> None:
    await upload(site)
    await age(site)
    assert await left(site) == []
    assert await site.events() == ["chart.created shop", "chart.deleted shop"]
    told = await edge.refused(install(site))
    assert (told.code.name, told.reason) == ("FAILED_PRECONDITION", "CHART_UNKNOWN")


async def test_a_chart_that_is_uploaded_or_asked_for_again_stays_for_another_day(site: Site) -> None:
    await upload(site)
    for use in (upload(site), install(site)):
        await site.sql.execute("UPDATE chart SET used_at = clock_timestamp() - interval '25 hours'")
        await use
        assert await site.sql.fetchval("SELECT used_at > clock_timestamp() - interval '1 minute' FROM chart")
    assert (await site.events()).count("chart.created shop") == 1


async def test_what_operations_and_revisions_name_stays(site: Site) -> None:
    old, new = SHOP, chart_archive.packed(version="2.0.0")
    await upload(site, old)
    await upload(site, new)
    begun = await install(site, chart=old)
    await age(site)
    assert await left(site) == [archive.digest(old)]
    await site.stub.Cancel(pb.CancelRequest(operation_id=begun.id))
    await age(site)
    assert await left(site) == [archive.digest(old)]
    await site.sql.execute("DELETE FROM release")
    await age(site)
    assert await left(site) == []


async def test_a_chart_that_goes_while_it_is_asked_for_is_not_installed(site: Site) -> None:
    await upload(site)

    async def forget() -> None:
        for _ in range(20):
            await age(site)

    async def ask() -> list[str]:
        told: list[str] = []
        for number in range(20):
            await upload(site)
            try:
                await install(site, name=f"shop-{number}")
            except Exception as error:  # whatever it is, it is looked at
                told.append(str(edge.refusal(error).reason))  # type: ignore[arg-type]  # no other error comes
        return told

    _, told = await asyncio.gather(forget(), ask())
    assert set(told) <= {"CHART_UNKNOWN", "LOST_RACE"}
    named = await site.sql.fetchval("SELECT count(*) FROM operation WHERE chart_id IS NULL")
    assert named == 0


async def test_charts_are_listed_page_by_page(site: Site) -> None:
    for number in range(3):
        await upload(site, chart_archive.packed(version=f"{number}.0.0"))
    found = [each async for each in site.stub.ListCharts(pb.ListChartsRequest(name="shop"))]
    assert [each.chart_version for each in found] == ["2.0.0", "1.0.0", "0.0.0"]
    told = await edge.refused(_first(site.stub.ListCharts(pb.ListChartsRequest(name="x" * 300))))
    assert list(told.fields) == ["name"]


async def test_what_a_chart_may_be_mended_in_comes_with_it(site: Site) -> None:
    stored = await upload(site, chart_archive.packed(flavour="sweet"))
    assert any("flavour" in warning for warning in stored.warnings)
    again = await upload(site, chart_archive.packed(flavour="sweet"))
    assert list(again.warnings) == list(stored.warnings)


async def _first(answers: Any) -> object:
    return await answers.read()
