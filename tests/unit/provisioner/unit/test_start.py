"""What keeps an agent for units from beginning is one sentence that names the folder and what is wrong with it."""

from pathlib import Path

import pytest

from support.unit_server import UnitServer
from tinkwell.client.lease.keeper import Keeper
from tinkwell.provisioner.state_dir import state_dir
from tinkwell.provisioner.unit import agent


async def _no_machines() -> frozenset[str]:
    return frozenset()


async def _begin(path: Path) -> str:
    """Begin, and return why that is not possible."""
    server = UnitServer([], {})
    beginning = agent.Agent(
        api=server,
        storages=server.storages_in,
        history=server.history,
        lease=Keeper(server, owner="o", engine="e"),
        path=path,
        machines=_no_machines,
    )
    with pytest.raises(state_dir.StateError) as refused:
        await beginning.run()
    return str(refused.value)


async def test_a_file_in_the_place_of_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "units"
    path.write_text("")
    assert await _begin(path) == f"units cannot be run from {path}: {path}: File exists"


async def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "units"
    assert await _begin(path) == f"units cannot be run from {path}: {path}: Not a directory"


async def test_what_it_needs_in_its_folder_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    told = f"units cannot be run from {tmp_path}: {tmp_path / 'lock'}: Is a directory"
    assert await _begin(tmp_path) == told


async def test_a_link_in_the_place_of_its_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    told = await _begin(tmp_path)
    assert told == f"units cannot be run from {tmp_path}: {tmp_path / 'lock'}: Too many levels of symbolic links"
    assert not (tmp_path / "elsewhere").exists()
