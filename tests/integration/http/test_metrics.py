"""What a running server tells Prometheus, and that its page explains all of it."""

import asyncio
import re
import urllib.request
import uuid
from collections.abc import Iterable
from pathlib import Path

import asyncpg
import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

import tinkwell.client
from support.server import Server
from support.waiting import eventually
from tinkwell.server.app import metric
from tinkwell.server.app.workers import supervisor
from tinkwell.server.log.relay.count import Counts

DOCS = Path(__file__).parents[3] / "docs"
PARTS = re.compile("(_bucket|_count|_sum)$")


async def families(http_address: str) -> list[Metric]:
    def fetch() -> str:
        with urllib.request.urlopen(f"http://{http_address}/metrics", timeout=10) as response:
            return str(response.read().decode())

    return list(text_string_to_metric_families(await asyncio.to_thread(fetch)))


async def value(http_address: str, name: str, **labels: str) -> float:
    for family in await families(http_address):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    raise AssertionError(f"there is no {name}")


def names(found: Iterable[Metric]) -> set[str]:
    """The names by which people ask for the metrics."""
    return {f"{family.name}_total" if family.type == "counter" else family.name for family in found}


async def test_every_metric_is_on_the_page_and_the_page_names_no_other(server: Server) -> None:
    shown = names(await families(server.http_address))
    # Those of several workers, and those of the relay.
    shown |= names(supervisor._metrics([])) | names(metric.relaying(Counts()))
    text = (DOCS / "reference" / "metrics.md").read_text()
    explained = re.findall(r"^\| `(\w+)`", text, re.MULTILINE)
    assert sorted(explained) == sorted(shown)
    alerts = (DOCS / "how-to" / "monitoring.md").read_text()
    mentioned = {PARTS.sub("", name) for name in re.findall(r"\b(?:tinkwell|process)_\w+", text + alerts)}
    assert mentioned <= shown


async def test_an_event_is_counted_on_its_way(server: Server, client: tinkwell.client.Client) -> None:
    async with client.events.watch(now=True) as watch:
        assert await value(server.http_address, "tinkwell_watchers") == 1
        await client.hardware.push({"id": str(uuid.uuid4())})
        await anext(watch)
        assert await value(server.http_address, "tinkwell_log_released_revision") == 1
        assert await value(server.http_address, "tinkwell_log_events_total") == 1
        assert await value(server.http_address, "tinkwell_log_publish_delay_seconds_count") == 1
        assert await value(server.http_address, "tinkwell_watch_events_total") == 1
        assert await value(server.http_address, "tinkwell_log_lag_revisions") == 0


async def test_a_sleeping_reader_is_told_of_an_event_and_woken_by_one_that_is_too_long_to_tell(
    server: Server, client: tinkwell.client.Client
) -> None:
    async def is_asleep() -> bool:
        return await value(server.http_address, "tinkwell_log_sleeps_total") > 0

    async def is_told() -> bool:
        return await value(server.http_address, "tinkwell_log_told_events_total") == 1

    async def is_woken() -> bool:
        return await value(server.http_address, "tinkwell_log_wakeups_total", cause="rung") == 1

    await eventually(is_asleep)
    await client.hardware.push({"id": str(uuid.uuid4())})
    await eventually(is_told)
    assert not await is_woken()
    await client.hardware.push({"id": str(uuid.uuid4()), "metadata": {"note": "x" * 10_000}})
    await eventually(is_woken)
    assert await value(server.http_address, "tinkwell_log_notifications_total") == 2


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
async def test_a_transaction_that_holds_delivery_shows_with_the_time_that_it_takes(
    server: Server, client: tinkwell.client.Client, end: str
) -> None:
    connection = await asyncpg.connect(server.database_url)
    try:
        # It draws its revision now instead of while it commits, and stays open.
        await connection.execute("BEGIN; SET CONSTRAINTS ALL IMMEDIATE")
        await connection.execute("INSERT INTO template (id, name, data) VALUES (gen_random_uuid(), 't', 'x')")
        await client.hardware.push({"id": str(uuid.uuid4())})
        await eventually(lambda: is_held(server.http_address))
        assert await value(server.http_address, "tinkwell_log_gap_age_seconds") > 0
        await eventually(lambda: is_behind(server.http_address))
        assert await value(server.http_address, "tinkwell_log_lag_seconds") > 0
        await connection.execute(end)
    finally:
        await connection.close()
    await eventually(lambda: is_released(server.http_address, 2))
    assert await value(server.http_address, "tinkwell_log_gap_holders") == 0
    assert await value(server.http_address, "tinkwell_log_gap_age_seconds") == 0
    assert await value(server.http_address, "tinkwell_log_gap_seconds_total") > 0
    assert await value(server.http_address, "tinkwell_log_gap_waits_total") > 0
    assert await value(server.http_address, "tinkwell_log_lag_seconds") == 0


async def is_held(http_address: str) -> bool:
    return await value(http_address, "tinkwell_log_gap_holders") == 1


async def is_behind(http_address: str) -> bool:
    return await value(http_address, "tinkwell_log_lag_revisions") == 2


async def is_released(http_address: str, revision: int) -> bool:
    return await value(http_address, "tinkwell_log_released_revision") == revision
