"""Folders of storages that the server has no more."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from tinkwell.provisioner.unit import sweep
from tinkwell.provisioner.unit.folder import Folders
from tinkwell.provisioner.unit.host import Host


def _host(path: Path, *known: str, history_id: str = "one") -> Host:
    async def storages(namespace: str) -> frozenset[str]:
        return frozenset(known if namespace == "default" else ())

    async def history() -> str:
        return history_id

    return cast("Host", SimpleNamespace(folders=Folders(path), storages=storages, history=history))


def _make(path: Path, *names: str, namespace: str = "default", history_id: str = "one") -> Folders:
    folders = Folders(path)
    folders.note_history(history_id)
    for name in names:
        folders.storage(namespace, name).mkdir(parents=True)
    return folders


async def test_what_the_server_has_stays_and_the_rest_goes(tmp_path: Path) -> None:
    folders = _make(tmp_path, "data/0", "my-data/12")
    _make(tmp_path, "data/3", namespace="staging")
    (folders.storage("default", "my-data/12") / "file").touch()
    await sweep.sweep(_host(tmp_path, "data/0", "data/1"))
    assert folders.storages() == [("default", "data/0")]


async def test_another_servers_storages_are_left(tmp_path: Path) -> None:
    folders = _make(tmp_path, "data/0")
    _make(tmp_path, "data/1", history_id="two")
    await sweep.sweep(_host(tmp_path, history_id="two"))
    assert folders.storages() == [("default", "data/0"), ("default", "data/1")]
    await sweep.sweep(_host(tmp_path))
    assert folders.storages() == []
    # Where there are none, the next ones may be another server's.
    _make(tmp_path, "data/1", history_id="two")
    await sweep.sweep(_host(tmp_path, history_id="two"))
    assert folders.storages() == []
