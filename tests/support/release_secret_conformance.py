"""What every server does with the secrets of releases: run against the real one and against the fake."""

import dataclasses
import json

import pytest

from support.client_conformance import Check
from support.release_provisioner import Provisioner, apply, step
from tinkwell.client import Client, errors
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import (
    NodeState,
    ResourceStatus,
    StepKind,
)
from tinkwell.core.release.report import Call, NodeReport, ResourceReport

CHECKS: list[Check] = []


def check(function: Check) -> Check:
    """Add a check."""
    CHECKS.append(function)
    return function


@check
async def what_is_secret_is_shown_to_the_holder_alone(client: Client) -> None:
    handle = await apply(client, secret_variables={"password": "hunter22", "token": "a long token"})
    owner = await Provisioner.enter(client)
    await client.releases.acquire(handle.id, owner.token)
    work = await client.releases.work(handle.id, owner.token)
    variables = {"size": 3, "password": "hunter22", "token": "a long token"}
    assert (json.loads(work.source)["variables"], work.secrets) == (
        variables,
        frozenset({"hunter22", "a long token"}),
    )
    manifest = '{"resources": {"db": {"type": "acme/db:1", "config": {"url": "https://me:hunter22@db/"}}}}'
    await owner.submit(handle.id, manifest=manifest)
    revision = await client.releases.revision("shop")
    assert revision.source is not None
    assert revision.source["variables"] == {"size": 3, "password": None, "token": None}
    assert revision.manifest == {"resources": {"db": {"type": "acme/db:1", "config": {"url": None}}}}
    begun = await client.releases.work(handle.id, owner.token)
    assert json.loads(begun.manifest) == json.loads(manifest)
    former = await client.releases.work(handle.id, owner.token, revision=1)
    assert json.loads(former.manifest) == json.loads(manifest)
    assert (await client.releases.work(handle.id, owner.token, revision=2)).documents == {}


@check
async def what_images_and_states_name_as_secret_is_kept_from_sight(client: Client) -> None:
    handle, owner = await apply(client), await Provisioner.enter(client)
    await owner.begin(handle.id)
    state = '{"password":"generated 47","port":5432}'
    await owner.report(
        handle.id,
        ResourceReport(path="db", type="acme/db:1", status=ResourceStatus.VALID, state=state, sensitive=("/password",)),
    )
    await owner.report(
        handle.id,
        NodeReport(path="role", state=NodeState.INSTALLING),
        step("role", 1, StepKind.STATE, State.RUNNING),
        step("role", 1, StepKind.STATE, State.SUCCEEDED),
        ResourceReport(path="role", type="acme/role:1", status=ResourceStatus.STALE, secrets=("former one",)),
        dataclasses.replace(
            step("role", 2, StepKind.ACTION, State.PENDING, attempt=0),
            call=Call(name="create", args=("--password", "generated 47", "--former=former one")),
        ),
    )
    (resource,) = [found async for found in client.releases.resources("shop") if found.path == "db"]
    assert resource.state == {"password": None, "port": 5432}
    role = await anext(client.releases.nodes(handle.id))
    assert role.steps[1].args == ("--password", "•••", "•••")
    work = await client.releases.work(handle.id, owner.token)
    assert work.secrets == {"generated 47", "former one"}
    assert work.nodes[0].steps[1].args == ("--password", "generated 47", "--former=former one")
    assert [found.state for found in work.resources if found.path == "db"] == [json.loads(state)]


@check
async def a_secret_that_could_not_be_told_from_other_text_is_refused(client: Client) -> None:
    for secret, fields in (({"pin": "4711"}, ["variables.pin"]), ({"size": "hunter22"}, ["secret_variables"])):
        with pytest.raises(errors.InvalidField) as refused:
            await apply(client, secret_variables=secret)
        assert [violation.field for violation in refused.value.violations] == fields
    assert [release async for release in client.releases.list()] == []
