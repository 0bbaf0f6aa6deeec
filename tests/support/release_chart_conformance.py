"""What every server answers about charts: run against the real one and against the fake that users test with."""

import base64
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from support import chart_archive
from support.client_conformance import Check
from support.release_provisioner import RENDERED, Provisioner
from tinkwell.client import Client, Event, OperationHandle, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.kinds import OperationKind, ReleaseState, RevisionState

CHECKS: list[Check] = []
SHOP = chart_archive.packed(values={"size": 1, "color": "red"}, description="sells", appVersion="7")
NEWER = chart_archive.packed(version="2.0.0", values={"size": 2, "color": "blue", "extra": True})


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


async def deploy(owner: Provisioner, handle: OperationHandle, *, manifest: str = RENDERED) -> int:
    """Carry an operation out in which all is VALID already; gives its revision."""
    await owner.client.releases.acquire(handle.id, owner.token)
    submitted = await owner.submit(handle.id, manifest=manifest)
    for path in ("role", "db"):
        await owner.keep(handle.id, path)
    assert (await owner.finish(handle.id)).state is State.SUCCEEDED
    return submitted.revision


@check
async def a_chart_is_known_by_the_digest_of_its_archive(client: Client) -> None:
    chart = await client.releases.upload_chart(SHOP)
    assert (chart.digest, chart.size) == (archive.digest(SHOP), len(SHOP))
    assert (chart.name, chart.chart_version, chart.app_version, chart.description) == ("shop", "1.0.0", "7", "sells")
    assert await client.releases.upload_chart(SHOP) == chart
    found = await client.releases.chart(chart.digest)
    assert found == chart
    assert found.metadata is not None
    assert found.metadata["name"] == "shop"
    assert await client.releases.chart_archive(chart.digest) == SHOP
    created = [event async for event in _until(client, "chart.created")]
    assert [(event.name, event.resource_id) for event in created] == [("chart.created", chart.id)]
    assert created[0].data["digest"] == chart.digest


@check
async def charts_are_listed_by_name_and_the_newest_first(client: Client) -> None:
    for data in (SHOP, NEWER, chart_archive.packed("bank")):
        await client.releases.upload_chart(data)
    found = [(each.name, each.chart_version) async for each in client.releases.charts()]
    assert found == [("bank", "1.0.0"), ("shop", "2.0.0"), ("shop", "1.0.0")]
    assert [each.metadata async for each in client.releases.charts("bank")] == [None]
    assert [each async for each in client.releases.charts("other")] == []


@check
async def what_is_no_chart_is_refused_and_not_stored(client: Client) -> None:
    for data in (b"", b"no archive", archive.pack("shop", {"values.yaml": b""})):
        with pytest.raises(errors.ChartInvalid) as refused:
            await client.releases.upload_chart(data)
        assert refused.value.violations
    assert [each async for each in client.releases.charts()] == []
    unknown = archive.digest(b"")
    with pytest.raises(errors.NotFound):
        await client.releases.chart(unknown)
    with pytest.raises(errors.ChartUnknown):
        await client.releases.install("shop", unknown)
    assert [each async for each in client.releases.list()] == []


@check
async def an_installed_chart_is_uploaded_on_the_way_and_kept_with_the_revision(client: Client) -> None:
    handle = await client.releases.install("shop", SHOP, values={"size": 3}, description="first", strict=True)
    assert handle.operation.kind is OperationKind.INSTALL
    release = await client.releases.get("shop")
    assert (release.chart_name, release.chart_version) == ("shop", "1.0.0")
    owner = await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    work = await client.releases.work(handle.id, owner.token)
    source = {
        "chart": {"digest": archive.digest(SHOP), "name": "shop", "version": "1.0.0"},
        "user_values": {"size": 3},
        "strict": True,
    }
    assert json.loads(work.source) == source
    assert base64.b64decode(work.documents["chart"]) == SHOP
    assert await deploy(owner, handle) == 1
    revision = await client.releases.revision("shop", with_all_values=True)
    assert (revision.source, revision.description) == (source, "first")
    assert revision.all_values == {"size": 3, "color": "red"}
    assert (await client.releases.revision("shop")).all_values is None
    release = await client.releases.get("shop")
    assert (release.state, release.chart_name, release.chart_version) == (ReleaseState.DEPLOYED, "shop", "1.0.0")


@check
async def a_chart_is_installed_once_and_then_upgraded(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        await client.releases.upgrade("shop", SHOP)
    owner = await Provisioner.enter(client)
    first = await client.releases.upgrade("shop", SHOP, install=True)
    assert first.operation.kind is OperationKind.INSTALL
    with pytest.raises(errors.OperationActive):
        await client.releases.install("shop", SHOP)
    await client.releases.cancel(first.id)
    # What was never deployed may be installed again.
    await deploy(owner, await client.releases.install("shop", SHOP))
    with pytest.raises(errors.AlreadyExists, match="upgrade"):
        await client.releases.install("shop", SHOP)
    again = await client.releases.upgrade("shop", SHOP, install=True)
    assert again.operation.kind is OperationKind.UPGRADE


@check
async def an_upgrade_lays_new_values_over_those_of_the_deployed_revision(client: Client) -> None:
    owner = await Provisioner.enter(client)
    await deploy(owner, await client.releases.install("shop", SHOP, values={"size": 3, "more": {"a": 1, "b": 1}}))
    modes: Sequence[tuple[dict[str, Any], object]] = (
        ({}, {"size": 3, "more": {"a": 2, "b": 1}, "color": "blue", "extra": True}),
        ({"reset_values": True}, {"size": 2, "more": {"a": 2}, "color": "blue", "extra": True}),
        ({"reuse_values": True}, {"size": 3, "more": {"a": 2, "b": 1}, "color": "red"}),
        ({"reset_values": True, "reuse_values": True}, {"size": 2, "more": {"a": 2}, "color": "blue", "extra": True}),
    )
    for number, (mode, expected) in enumerate(modes, 1):
        upgrade = await client.releases.upgrade("shop", NEWER, values={"more": {"a": 2}}, **mode)
        await client.releases.acquire(upgrade.id, owner.token)
        await owner.submit(upgrade.id, manifest=json.dumps({"number": number}))
        await owner.finish(upgrade.id, State.FAILED, path="db")
        failed = await client.releases.revision("shop", number + 1, with_all_values=True)
        assert (failed.state, failed.all_values) == (RevisionState.FAILED, expected), mode


@check
async def an_upgrade_to_the_same_makes_no_revision_and_a_rollback_brings_the_former_chart(client: Client) -> None:
    owner = await Provisioner.enter(client)
    await deploy(owner, await client.releases.install("shop", SHOP, values={"size": 3}))
    assert await deploy(owner, await client.releases.upgrade("shop", SHOP, strict=True)) == 1
    assert await deploy(owner, await client.releases.upgrade("shop", SHOP, values={"size": 4})) == 2
    assert await deploy(owner, await client.releases.upgrade("shop", NEWER)) == 3
    assert (await client.releases.get("shop")).chart_version == "2.0.0"
    back = await client.releases.rollback("shop", 1)
    await client.releases.acquire(back.id, owner.token)
    work = await client.releases.work(back.id, owner.token)
    assert base64.b64decode(work.documents["chart"]) == SHOP
    former = await client.releases.work(back.id, owner.token, revision=3)
    assert base64.b64decode(former.documents["chart"]) == NEWER
    assert await deploy(owner, back) == 4
    revision = await client.releases.revision("shop", with_all_values=True)
    assert revision.all_values == {"size": 3, "color": "red"}
    assert (await client.releases.get("shop")).chart_version == "1.0.0"


@check
async def a_repeated_request_for_a_chart_begins_no_second_operation(client: Client) -> None:
    id_ = str(uuid.uuid4())
    first = await client.releases.install("shop", SHOP, values={"size": 3}, id=id_)
    assert (await client.releases.install("shop", SHOP, values={"size": 3}, id=id_)).id == first.id
    owner = await Provisioner.enter(client)
    await deploy(owner, first)
    assert (await client.releases.install("shop", SHOP, values={"size": 3}, id=id_)).id == first.id
    for values, data in (({"size": 4}, SHOP), ({"size": 3}, NEWER)):
        with pytest.raises(errors.AlreadyExists):
            await client.releases.install("shop", data, values=values, id=id_)
    id_ = str(uuid.uuid4())
    upgrade = await client.releases.upgrade("shop", NEWER, values={"more": 1}, id=id_)
    await deploy(owner, upgrade)
    assert (await client.releases.upgrade("shop", NEWER, values={"more": 1}, id=id_)).id == upgrade.id
    with pytest.raises(errors.AlreadyExists):
        await client.releases.upgrade("shop", NEWER, values={"more": 2}, id=id_)


@check
async def what_is_wrong_with_a_chart_and_its_values_leaves_no_trace(client: Client) -> None:
    loop = chart_archive.packed(
        subcharts={name: chart_archive.chart(name) for name in ("a", "b")},
        dependencies=[{"name": "a", "depends-on": ["b"]}, {"name": "b", "depends-on": ["a"]}],
    )
    with pytest.raises(errors.ChartInvalid) as refused:
        await client.releases.install("shop", loop)
    assert "a" in refused.value.message
    for name, values, pointers, field in (
        ("Shop", "{}", (), "name"),
        ("shop", '{"size": 1, "size": 2}', (), "values"),
        ("shop", '{"size": 1}', ("/password",), "secret_values[0]"),
        ("shop", '{"size": 1}', ("size",), "secret_values[0]"),
        ("shop", '{"password": "4711"}', ("/password",), "values.password"),
    ):
        with pytest.raises(errors.InvalidField) as wrong:
            await client.releases.install(name, SHOP, values=values, secret_values=pointers)
        assert [violation.field for violation in wrong.value.violations] == [field]
    assert [each async for each in client.releases.list()] == []


@check
async def secret_values_are_shown_to_the_holder_alone(client: Client) -> None:
    owner = await Provisioner.enter(client)
    values = {"size": 3, "db": {"password": "hunter22"}, "url": "https://me:hunter22@db/"}
    handle = await client.releases.install("shop", SHOP, values=values, secret_values=["/db/password"])
    await client.releases.acquire(handle.id, owner.token)
    work = await client.releases.work(handle.id, owner.token)
    assert (json.loads(work.source)["user_values"], work.secrets) == (values, frozenset({"hunter22"}))
    await deploy(owner, handle)
    hidden = {"size": 3, "db": {"password": None}, "url": None}
    revision = await client.releases.revision("shop", with_all_values=True)
    assert revision.source is not None
    assert revision.source["user_values"] == hidden
    assert revision.all_values == hidden | {"color": "red"}
    upgrade = await client.releases.upgrade("shop", NEWER, values={"size": 4})
    await client.releases.acquire(upgrade.id, owner.token)
    work = await client.releases.work(upgrade.id, owner.token)
    assert json.loads(work.source)["user_values"] == values | {"size": 4}
    assert work.secrets == {"hunter22"}


async def _until(client: Client, name: str) -> AsyncIterator[Event]:
    async for event in client.releases.watch():
        yield event
        if event.name == name:
            return
