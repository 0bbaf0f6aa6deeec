"""Charms in the shapes that the documentation of ops has live with a real server, and the others are refused."""

import string
from pathlib import Path

import pytest

from support import process, tiny_charm
from support.ops_charm import SHAPES, Shape
from support.server import Server
from tinkwell.client import Client, errors
from tinkwell.core.charm.package import NewFile
from tinkwell.core.unit.kinds import EventState

# For all of them together: each event starts a Python that imports ops.
DEADLINE_SECONDS = 300.0
TAKEN = {
    f"shape-{string.ascii_lowercase[number]}": shape
    for number, shape in enumerate(SHAPES.values())
    if not shape.refusal
}
REFUSED = [pytest.param(shape, id=name) for name, shape in SHAPES.items() if shape.refusal]


def _write(folder: Path, files: dict[str, str]) -> Path:
    written = [NewFile(path, text.encode(), path == "src/charm.py") for path, text in files.items()]
    return tiny_charm.write(folder, [*written, *tiny_charm.venv()])


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_each_shape_that_is_taken_comes_to_rest(client: Client, server: Server, tmp_path: Path) -> None:
    where = ("--server", server.address, "--state-dir", str(tmp_path / "state"))
    command = ("provisioner", "--units", "--runtime", "process", *where)
    async with process.running(*command, log=tmp_path / "provisioner.log"):
        for name, shape in TAKEN.items():
            await client.applications.deploy(name, _write(tmp_path / name, {**shape.files}), anywhere=True)
        await client.applications.settled(*TAKEN, timeout_seconds=DEADLINE_SECONDS)
        for name, shape in TAKEN.items():
            told = [each async for each in client.applications.events(f"{name}/0")]
            assert all(each.state is EventState.COMMITTED for each in told), (name, told)
            heard = [each.name for each in reversed(told)]
            setup = [each for each in heard if not each.endswith(("-storage-attached", "-relation-created"))]
            assert setup == ["install", "leader-elected", "config-changed", "start"], name
            unit = await client.applications.unit(f"{name}/0")
            assert (unit.status.name, unit.status.message) == ("active", ""), name
            attached = {each.removesuffix("-storage-attached") for each in heard if "-storage-" in each}
            assert attached <= {*shape.storages}, name


@pytest.mark.parametrize("shape", REFUSED)
async def test_the_other_shapes_are_refused_with_why(client: Client, shape: Shape, tmp_path: Path) -> None:
    folder = _write(tmp_path / "charm", {**shape.files})
    with pytest.raises(errors.CharmRefused) as caught:
        await client.applications.deploy("refused", folder, anywhere=True)
    assert shape.refusal in str(caught.value)
