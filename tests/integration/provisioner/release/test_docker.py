"""Releases whose resources are containers."""

import contextlib
import io
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from integration.provisioner import engine_image

from support import chart_stage
from support.chart_stage import chart
from support.release_stage import IMAGES, SECONDS, Stage
from support.waiting import eventually
from tinkwell.client import Client
from tinkwell.core.event.kinds import State
from tinkwell.core.release.kinds import NodeState, StepKind
from tinkwell.core.release.preview.model import Preview

pytestmark = pytest.mark.docker

IMAGE = "tinkwell-test/shelled:1"
RUNTIME = ("--runtime", "docker")


@pytest.fixture
def engine() -> Iterator[docker.APIClient]:
    with engine_image.engine_or_skip() as engine:
        engine.import_image_from_data(
            _file_system(), repository="tinkwell-test/shelled", tag="1", changes=['ENTRYPOINT ["/run"]', 'CMD ["init"]']
        )
        yield engine


@pytest.fixture
def stage(engine: docker.APIClient, client: Client, server_address: str, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(client, server_address, tmp_path)
    yield stage
    for container in _containers(engine, stage):
        with contextlib.suppress(docker.errors.APIError):
            engine.remove_container(container, force=True, v=True)


def _file_system() -> bytes:
    buffer = io.BytesIO(engine_image.file_system())
    with tarfile.open(fileobj=buffer, mode="a") as tar:
        tar.add(IMAGES / "shelled" / "run", "run")
    return buffer.getvalue()


def _containers(engine: docker.APIClient, stage: Stage) -> list[str]:
    instance = (stage.state_dir / "instance").read_text()
    found = engine.containers(all=True, filters={"label": f"tinkwell.instance={instance}"})
    return [container["Id"] for container in found]


def _file(text: str) -> dict[str, Any]:
    return {"type": IMAGE, "config": {"file": "x", "text": text}}


def _plugs(stage: Stage) -> dict[str, Any]:
    return {"data": {"path": str(stage.folder)}}


async def test_a_file_is_installed_found_unchanged_and_removed(stage: Stage, engine: docker.APIClient) -> None:
    async with stage.provisioner("--plug", f"data={stage.folder}", *RUNTIME):
        operation_id = await stage.apply(plugs=_plugs(stage), first=_file("one"))
        await stage.ends(operation_id)
        assert stage.content("x") == "one"
        lines = [line.text async for line in stage.client.releases.logs(operation_id)]
        assert lines == ["looking in /data from /workspace"] * 2
        unchanged = await stage.ends(await stage.apply(plugs=_plugs(stage), first=_file("one")))
        assert (unchanged.revision, unchanged.changed_nodes) == (1, 0)
        await stage.ends((await stage.client.releases.uninstall("shop")).id)
        assert stage.content("x") is None
        assert _containers(engine, stage) == []


async def test_an_action_goes_on_when_its_provisioner_is_killed_and_is_adopted(
    stage: Stage, engine: docker.APIClient
) -> None:
    (stage.folder / "wait").touch()
    options = ("--plug", f"data={stage.folder}", *RUNTIME)
    async with stage.provisioner(*options) as first:
        operation_id = await stage.apply(plugs=_plugs(stage), first=_file("one"))
        await eventually((stage.folder / "journal").exists, deadline_seconds=SECONDS)
        first.kill()
        await first.wait()
    async with stage.provisioner(*options):
        (stage.folder / "wait").unlink()
        await stage.ends(operation_id)
        assert _containers(engine, stage) == []
    assert (stage.folder / "journal").read_text() == "begun\n"


async def test_after_a_cancellation_no_container_is_left(stage: Stage, engine: docker.APIClient) -> None:
    (stage.folder / "wait").touch()
    async with stage.provisioner("--plug", f"data={stage.folder}", *RUNTIME):
        operation_id = await stage.apply(plugs=_plugs(stage), first=_file("one"))
        await eventually((stage.folder / "journal").exists, deadline_seconds=SECONDS)
        await stage.client.releases.cancel(operation_id, now=True)
        await stage.ends(operation_id, State.CANCELLED)
        assert _containers(engine, stage) == []


async def test_after_a_cancellation_in_a_subchart_no_container_is_left(stage: Stage, engine: docker.APIClient) -> None:
    (stage.folder / "wait").touch()
    deep = chart("deep", {"first": _file("one")})
    deep["templates/plugs.yaml"] = json.dumps({"plugs": _plugs(stage)})
    packed = chart_stage.packed(chart("shop", {}, subcharts={"part": chart("part", {}, subcharts={"deep": deep})}))
    async with stage.provisioner("--plug", f"data={stage.folder}", *RUNTIME):
        operation_id = (await stage.client.releases.install("shop", packed)).id
        await eventually((stage.folder / "journal").exists, deadline_seconds=SECONDS)
        await stage.client.releases.cancel(operation_id, now=True)
        await stage.ends(operation_id, State.CANCELLED)
        assert _containers(engine, stage) == []
    states = {node.path: node.state async for node in stage.client.releases.nodes(operation_id)}
    assert states.keys() == {"shop", "shop.part", "shop.part.deep", "shop.part.deep:first"}
    assert {*states.values()} == {NodeState.FAILED}


async def test_a_plan_starts_containers_for_init_and_state_alone(stage: Stage, engine: docker.APIClient) -> None:
    began = int(time.time())
    async with stage.provisioner("--plug", f"data={stage.folder}", *RUNTIME):
        manifest = json.dumps({"plugs": _plugs(stage), "resources": {"first": _file("one"), "own": _file("two")}})
        handle = await stage.client.releases.plan("shop", manifest=manifest)
        await stage.ends(handle.id)
        operation = await stage.client.releases.operation(handle.id)
        steps = [step.kind async for node in stage.client.releases.nodes(handle.id) for step in node.steps]
    assert [node.mark for node in Preview.from_json(operation.result).nodes] == ["+", "+"]
    assert sorted(steps) == [StepKind.INIT, StepKind.INIT, StepKind.STATE, StepKind.STATE]
    instance = (stage.state_dir / "instance").read_text()
    events = engine.events(
        since=began, until=int(time.time()) + 1, filters={"label": f"tinkwell.instance={instance}"}, decode=True
    )
    actions = [event["Action"] for event in events if event["Type"] == "container"]
    assert (actions.count("create"), actions.count("start")) == (len(steps), len(steps))
    assert _containers(engine, stage) == []
    assert list(stage.folder.iterdir()) == []
    assert not (stage.state_dir / "releases" / operation.release_id).exists()
