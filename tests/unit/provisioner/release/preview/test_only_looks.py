"""A plan changes nothing: it is tried at the one place where containers of releases are described."""

from pathlib import Path
from typing import Any, cast

import pytest

from tinkwell.client.release.model import Operation
from tinkwell.core.event.kinds import State
from tinkwell.core.release.decision import preview
from tinkwell.core.release.decision.command import StartStep
from tinkwell.core.release.decision.view import StepKey
from tinkwell.core.release.kinds import NodeTask, OperationKind, StepKind
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.protocol import answer
from tinkwell.core.release.report import Call
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.release.call.caller import Caller, OnlyLooks
from tinkwell.provisioner.release.call.image_policy import ImagePolicy
from tinkwell.provisioner.release.call.plug import Machine, Plugs
from tinkwell.provisioner.release.call.step import Result, StepRun
from tinkwell.provisioner.release.resource import Resource, Resources
from tinkwell.provisioner.release.secret import Secrets
from tinkwell.provisioner.runtime import port

MANIFEST = RenderedManifest(plugs={"data": Plug(path="data")}, resources={"disk": RenderedResource(type="acme/disk:1")})
INIT = answer.parse_init(
    b'{"state_action": {"args": ["state"]}, "plugs": {"data": {"container_path": "/data", "writable": true}}}'
)
KEY = RunKey(RunKind.RELEASE, "release", "step", 1)


class _Run:
    """Notes what a container would have been given."""

    key = KEY

    def __init__(self) -> None:
        self.specs: list[port.RunSpec] = []

    async def start(self, spec: port.RunSpec, **_: Any) -> Result:
        self.specs.append(spec)
        return Result(state=State.FAILED, exit_code=1)


class _Runtime:
    """Knows where things are."""

    def workspace(self, key: RunKey) -> str:
        return "/workspace"

    def seen_at(self, mount: port.Mount) -> str:
        return mount.target


class _Configs:
    async def resolve(self, *_: object) -> dict[str, Any]:
        return {}


def caller(kind: OperationKind, folder: Path) -> Caller:
    disk = Resource(
        path="disk", type="acme/disk:1", task=NodeTask.INSTALL, manifest=MANIFEST, init=INIT, config={}, state={}
    )
    is_plan = kind is OperationKind.PLAN
    machine = Machine((), namespace="default", folder=folder / "releases" / "id", only_looks=is_plan)
    return Caller(
        operation=Operation("o", kind=kind),
        resources=Resources([disk]),
        configs=cast("Any", _Configs()),
        images=ImagePolicy(),
        plugs_of=lambda _: Plugs(machine, MANIFEST.plugs),
        runtime=cast("port.Runtime", _Runtime()),
        secrets=Secrets(),
    )


async def call(kind: OperationKind, step: StepKind, folder: Path) -> list[port.RunSpec]:
    run = _Run()
    command = StartStep(step=StepKey("disk", 1), kind=step, attempt=1, call=Call(name="x"), timeout_seconds=1)

    async def permit() -> Any:
        raise AssertionError("the run notes its start alone")

    await caller(kind, folder).call(cast("StepRun", run), command, permit)
    return run.specs


@pytest.mark.parametrize("step", sorted(set(StepKind) - set(preview.CALLS)))
async def test_no_call_but_init_and_state_is_made_in_a_plan(step: StepKind, tmp_path: Path) -> None:
    with pytest.raises(OnlyLooks, match=f"a plan makes no call of kind {step}"):
        await call(OperationKind.PLAN, step, tmp_path)
    (spec,) = await call(OperationKind.UPGRADE, step, tmp_path)
    assert [mount.read_only for mount in spec.mounts] == [False]


async def test_a_plan_gets_no_plug_to_write_to_and_makes_no_folder_of_the_release(tmp_path: Path) -> None:
    (spec,) = await call(OperationKind.PLAN, StepKind.STATE, tmp_path)
    (mount,) = spec.mounts
    assert mount.read_only
    assert not (tmp_path / "releases" / "id").exists()
    assert Path(mount.source) == tmp_path / "releases" / "empty"


async def test_a_plan_sees_the_folder_of_a_release_that_is_there(tmp_path: Path) -> None:
    (there,) = await call(OperationKind.UPGRADE, StepKind.STATE, tmp_path)
    (looked,) = await call(OperationKind.PLAN, StepKind.STATE, tmp_path)
    assert [mount.source for mount in looked.mounts] == [mount.source for mount in there.mounts]
    assert [(mount.read_only) for mount in (*looked.mounts, *there.mounts)] == [True, False]
