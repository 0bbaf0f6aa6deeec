"""Charts through the client: read where they are, uploaded where they are missing, and named by their digests."""

import asyncio
import itertools
from pathlib import Path

import pytest

from support import chart_archive
from tinkwell.client import Client, blocking, errors, testing
from tinkwell.core.release.chart.file import archive

SHOP = chart_archive.packed(values={"size": 1})


def folder(path: Path) -> Path:
    """Write the files of a chart."""
    for name, content in chart_archive.chart(values={"size": 1}).items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return path


async def test_a_folder_an_archive_and_its_bytes_are_the_same_chart(
    client: Client, server: testing.FakeServer, tmp_path: Path
) -> None:
    packed = tmp_path / "shop.tgz"
    packed.write_bytes(SHOP)
    charts = folder(tmp_path / "shop"), str(packed), SHOP
    found = [await client.releases.upload_chart(chart) for chart in charts]
    assert {chart.digest for chart in found} == {archive.digest(SHOP)}
    assert {call.method for call in server.calls} == {"UploadChart"}


async def test_a_chart_is_uploaded_only_where_the_server_does_not_have_it(
    client: Client, server: testing.FakeServer, tmp_path: Path
) -> None:
    shop = folder(tmp_path / "shop")
    first = await client.releases.install("shop", shop, timeout_seconds=60)
    await client.releases.install("other", shop)
    # A call that streams is there once more for each message.
    assert [name for name, _ in itertools.groupby(call.method for call in server.calls)] == [
        "Install",
        "UploadChart",
        "Install",
    ]
    assert len(server.requests("Install")) == 3
    refused, repeated = server.requests("Install")[:2]
    assert refused == repeated
    assert (repeated.operation_id, repeated.chart) == (first.id, archive.digest(SHOP))
    assert repeated.options.timeout_seconds == 60


async def test_a_digest_stands_for_a_chart_that_is_there(client: Client, server: testing.FakeServer) -> None:
    digest = archive.digest(SHOP)
    with pytest.raises(errors.ChartUnknown) as unknown:
        await client.releases.upgrade("shop", digest, install=True)
    assert digest in unknown.value.message
    await client.releases.upload_chart(SHOP)
    handle = await client.releases.upgrade("shop", digest, install=True, values={"size": 2}, secret_values=())
    assert handle.operation.release_name == "shop"
    (*_, request) = server.requests("Upgrade")
    assert (request.install, request.values, request.reset_values) == (True, '{"size":2}', False)


async def test_what_is_wrong_with_a_folder_is_said_before_anything_is_sent(
    client: Client, server: testing.FakeServer, tmp_path: Path
) -> None:
    with pytest.raises(errors.ChartInvalid) as refused:
        await client.releases.install("shop", tmp_path)
    assert (refused.value.reason, [v.field for v in refused.value.violations]) == ("CHART_INVALID", ["Chart.yaml"])
    with pytest.raises(FileNotFoundError):
        await client.releases.upload_chart(tmp_path / "nowhere")
    assert server.calls == []


async def test_another_archive_than_that_of_the_digest_is_not_taken(client: Client, server: testing.FakeServer) -> None:
    chart = await client.releases.upload_chart(SHOP)
    server.world.releases.archives[chart.digest] = b"something else"
    with pytest.raises(errors.Error, match="another archive"):
        await client.releases.chart_archive(chart.digest)


async def test_a_script_installs_a_chart_as_well(client: Client, server: testing.FakeServer, tmp_path: Path) -> None:
    def script() -> list[str]:
        with blocking.connect(server.address) as twin:
            handle = twin.releases.install("shop", folder(tmp_path / "shop"))
            assert twin.releases.chart(archive.digest(SHOP)).metadata
            return [handle.operation.release_name, *(chart.name for chart in twin.releases.charts())]

    assert await asyncio.to_thread(script) == ["shop", "shop"]
