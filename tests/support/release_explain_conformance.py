"""What every server explains of releases: run against the real one and against the fake that users test with."""

import uuid

import pytest

from support import chart_archive
from support.client_conformance import Check
from support.release_provisioner import Provisioner, apply, step
from tinkwell.client import Client, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.kinds import NodeState, StepKind
from tinkwell.core.release.report import NodeReport

CHECKS: list[Check] = []
VALUES = """\
db: {enabled: true}
mail: {enabled: true}
color: red
"""


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


@check
async def an_operation_that_nobody_has_taken_says_who_could(client: Client) -> None:
    handle = await apply(client)
    found = await client.releases.explain("shop")
    assert (found.operation_id, found.nodes, found.left_off) == (handle.id, (), 0)
    assert found.sentence.startswith("install of shop is PENDING")
    assert 'start one with "tinkwell provisioner --releases default"' in found.sentence
    owner = await Provisioner.enter(client)
    assert "alive: p1 (engine docker:1)" in (await client.releases.explain("shop")).sentence
    with pytest.raises(errors.InvalidField, match="has no plan"):
        await client.releases.explain("shop", "db")
    await client.releases.acquire(handle.id, owner.token)
    assert (await client.releases.explain("shop")).sentence.endswith("p1 (engine docker:1) carries it out")


@check
async def a_node_says_what_it_waits_for_and_why_it_failed(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    await owner.report(
        handle.id, NodeReport(path="role", state=NodeState.INSTALLING), step("role", 1, StepKind.STATE, State.RUNNING)
    )
    (db,) = (await client.releases.explain("shop", "db")).nodes
    assert (db.path, db.state, db.batch, db.waits_for) == ("db", NodeState.PENDING, 2, ("role",))
    assert db.sentence.startswith("db (batch 2) waits: role has been INSTALLING for 0 s at state (attempt 1 of 1, ")
    assert [node.path for node in (await client.releases.explain("shop")).nodes] == ["role", "db"]
    failed = step("role", 1, StepKind.STATE, State.FAILED, exit_code=3, message="no quota")
    await owner.report(handle.id, failed, NodeReport(path="role", state=NodeState.FAILED, message="no quota"))
    (db,) = (await client.releases.explain("shop", "db", operation_id=handle.id)).nodes
    assert db.sentence == "db (batch 2) never starts: role failed at state (exit 3): no quota"
    await owner.finish(handle.id, State.FAILED, path="role")
    found = await client.releases.explain("shop")
    assert found.sentence.startswith("install of shop ended as FAILED: role: ")
    assert [node.state for node in found.nodes] == [NodeState.FAILED, NodeState.SKIPPED]


@check
async def what_is_not_there_is_not_explained(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        await client.releases.explain("shop")
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    with pytest.raises(errors.InvalidField, match="did you mean role"):
        await client.releases.explain("shop", "rol")
    with pytest.raises(errors.InvalidField, match="has no chart"):
        await client.releases.explain("shop", with_values=True)
    with pytest.raises(errors.NotFound):
        await client.releases.explain("shop", operation_id=str(uuid.uuid4()))
    other = await client.releases.apply("bank", manifest={"resources": {}})
    with pytest.raises(errors.InvalidField, match="is an operation of bank"):
        await client.releases.explain("shop", operation_id=other.id)


@check
async def a_chart_says_where_values_are_from_and_why_subcharts_are_enabled(client: Client) -> None:
    dependencies = [
        {"name": "db", "version": "1.0.0", "condition": "db.enabled"},
        {"name": "web", "version": "1.0.0", "depends-on": ["db"]},
        {"name": "mail", "version": "1.0.0", "condition": "mail.enabled"},
    ]
    subcharts = {name: chart_archive.chart(name) for name in ("db", "web", "mail")}
    files = chart_archive.chart(subcharts=subcharts, dependencies=dependencies)
    data = archive.pack("shop", files | {"values.yaml": VALUES.encode()})
    values = {"mail": {"enabled": False}, "password": "hunter22"}
    handle = await client.releases.install("shop", data, values=values, secret_values=["/password"])
    owner = await Provisioner.enter(client)
    await owner.begin(handle.id)
    (mail,) = (await client.releases.explain("shop", "mail")).dependencies
    assert (mail.path, mail.is_enabled, mail.why) == ("shop.mail", False, "condition mail.enabled is false")
    assert mail.sources == ("the values that were given", "values.yaml:2")
    (web,) = (await client.releases.explain("shop", "shop.web")).dependencies
    assert [(edge.before, edge.origins) for edge in web.edges] == [("db", ("Chart.yaml dependencies[1].depends-on",))]
    for path in ("role", "db"):
        await owner.keep(handle.id, path)
    await owner.finish(handle.id)
    found = {each.key: each for each in (await client.releases.explain("shop", with_values=True)).values}
    assert (found["color"].value, found["color"].source) == ('"red"', "values.yaml:3")
    assert (found["mail.enabled"].value, found["mail.enabled"].before) == ("false", ("values.yaml:2",))
    secret = found["password"]
    assert (secret.value, secret.is_secret, secret.source) == ("", True, "the values that were given")
    assert [each.key for each in (await client.releases.explain("shop", "mail", with_values=True)).values] == [
        "mail.enabled"
    ]
    with pytest.raises(errors.InvalidField, match="did you mean color"):
        await client.releases.explain("shop", "colr", with_values=True)
