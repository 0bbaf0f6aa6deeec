"""Charms: uploaded in parts, known by their digest, refused before anything is stored."""

import hashlib

import pytest

from support.application_site import PG, WEB, Site, refusal
from tinkwell.api.v1 import application_service_pb2 as pb
from tinkwell.core.charm import package
from tinkwell.core.charm.package import NewFile
from tinkwell.server.unit.service.request import charms
from tinkwell.server.unit.store.request import charm as store


async def test_a_charm_is_stored_with_what_it_says_and_its_package(site: Site) -> None:
    hook = NewFile("hooks/install", b"#!/bin/sh\n" + b"#" * 3_000_000, is_executable=True)
    data = package.pack([NewFile("charm.yaml", f"{WEB}colour: red\n".encode()), hook])
    stored = await site.upload(data[at : at + 1_000_000] for at in range(0, len(data), 1_000_000))
    assert stored.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert (stored.name, stored.kind, stored.size, stored.version) == ("web", pb.CHARM_KIND_SCRIPTS, len(data), 1)
    assert [(each.name, each.role, each.interface, each.limit) for each in stored.endpoints] == [
        ("db", pb.ENDPOINT_ROLE_REQUIRES, "postgresql", 1),
        ("site", pb.ENDPOINT_ROLE_PROVIDES, "http", 0),
    ]
    assert [(each.name, each.minimum, each.maximum) for each in stored.storages] == [("data", 0, 2)]
    assert [(each.name, each.type, each.default, each.minimum) for each in stored.options] == [
        ("title", "string", "", ""),
        ("workers", "int", "2", "1"),
    ]
    assert stored.warnings[0].startswith("charm.yaml: colour is not a field")
    assert await site.apps.GetCharm(pb.GetCharmRequest(digest=stored.digest)) == stored
    chunks = await site.sql.fetch("SELECT data FROM charm_chunk ORDER BY number")
    assert b"".join(row["data"] for row in chunks) == data
    assert len(chunks[0]["data"]) == store.CHUNK_BYTES


async def test_the_same_charm_is_stored_once(site: Site) -> None:
    first = await site.charm(WEB)
    assert await site.charm(WEB, part_bytes=1) == first
    assert await site.count("charm") == 1
    assert await site.sql.fetchval("SELECT count(*) FROM events WHERE resource_type = 'CHARM'") == 1


async def test_charms_are_listed_by_name(site: Site) -> None:
    for text in (WEB, PG, f"{WEB}summary: newer\n"):
        await site.charm(text)
    assert [each.name async for each in site.apps.ListCharms(pb.ListCharmsRequest())] == ["pg", "web", "web"]
    found = [each.summary async for each in site.apps.ListCharms(pb.ListCharmsRequest(name="web"))]
    assert found == ["newer", ""]


async def test_a_charm_that_may_not_be_run_is_refused_and_not_stored(site: Site) -> None:
    refused = await refusal(site.charm("name: web\ncontainers: {web: {}}\n"))
    assert refused.reason == "CHARM_REFUSED"
    assert list(refused.fields) == ["charm.yaml.containers"]
    assert (await refusal(site.upload([]))).fields == {"package": "is empty; send the charm's folder as a zip"}
    assert (await refusal(site.upload([b"no zip"]))).fields["package"].startswith("is not a zip file, or is cut off")
    assert not await site.count("charm")


async def test_a_package_beyond_the_limit_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_PACKED_BYTES", 100)
    monkeypatch.setattr(charms, "MAX_READ_BYTES", 300)
    refused = await refusal(site.upload([b"0" * 99] * 9))
    assert refused.fields == {"package": "has more than 100 bytes; leave large files out of the charm"}


async def test_a_charm_is_asked_for_by_a_digest_that_is_known(site: Site) -> None:
    refused = await refusal(site.apps.GetCharm(pb.GetCharmRequest(digest="web")))
    assert list(refused.fields) == ["digest"]
    refused = await refusal(site.apps.GetCharm(pb.GetCharmRequest(digest="sha256:" + "0" * 64)))
    assert refused.reason == "NOT_FOUND"


async def test_too_many_uploads_at_a_time_are_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charms, "MAX_UPLOADS", 0)
    assert (await refusal(site.charm(WEB))).message == "0 charms are being uploaded; try again"


async def test_charms_that_nothing_names_are_forgotten_some_time_after_their_last_use(site: Site) -> None:
    await site.deploy(WEB, "web")
    await site.charm(PG)
    await site.sql.execute("UPDATE charm SET used_at = clock_timestamp() - interval '8 days'")
    await site.charm(f"{PG}summary: newer\n")
    found = [(each.name, each.summary) async for each in site.apps.ListCharms(pb.ListCharmsRequest())]
    assert found == [("pg", "newer"), ("web", "")]
    assert await site.sql.fetchval("SELECT count(*) FROM events WHERE name = 'charm.deleted'") == 1
