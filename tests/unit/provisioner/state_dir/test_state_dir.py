"""The state directory."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import other_account
from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.state_dir import state_dir

KEY = RunKey(RunKind.WORKFLOW, "w", "a", 1)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state_dir.StateDir]:
    directory = state_dir.StateDir.open(tmp_path / "deep" / "state")
    yield directory
    directory.close()


@contextlib.contextmanager
def opened(path: Path) -> Iterator[state_dir.StateDir]:
    with contextlib.closing(state_dir.StateDir.open(path)) as directory:
        yield directory


def test_each_provisioner_has_a_slot_of_its_own_and_who_comes_back_the_first_free_one(tmp_path: Path) -> None:
    first = state_dir.StateDir.open(tmp_path)
    with opened(tmp_path) as second, opened(tmp_path) as third:
        assert [d.slot for d in (first, second, third)] == [0, 1, 2]
        assert len({d.instance for d in (first, second, third)}) == 1
        assert len({d.owner for d in (first, second, third)}) == 3
        owner = first.owner
        assert first.live_slots() == {1, 2}
        first.close()
        assert second.live_slots() == {2}
        with opened(tmp_path) as again:
            assert (again.slot, again.owner) == (0, owner)


def test_all_who_live_there_at_once_have_one_runtime(tmp_path: Path) -> None:
    with opened(tmp_path) as first, opened(tmp_path) as second, opened(tmp_path) as third:
        first.note_runtime("docker")
        with pytest.raises(state_dir.StateError) as refused:
            second.note_runtime("process")
        assert str(refused.value) == (
            f"another provisioner uses the state directory {tmp_path} with the runtime docker, and this one has "
            "process: give it the same --runtime, or another --state-dir"
        )
        third.note_runtime("docker")
    # Who comes after them may have another one.
    with opened(tmp_path) as directory, opened(tmp_path) as another:
        another.note_runtime("process")
        directory.note_runtime("process")


def test_there_is_an_end_to_the_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_dir, "SLOTS", 2)
    message = r"2 provisioners use the state directory .* give this one its own"
    with opened(tmp_path), opened(tmp_path), pytest.raises(state_dir.StateError, match=message):
        state_dir.StateDir.open(tmp_path)
    with opened(tmp_path) as directory:
        assert directory.slot == 0


def test_the_boot_of_an_attempt_is_kept_as_it_was_first_noted_until_its_workflow_is_forgotten(
    directory: state_dir.StateDir,
) -> None:
    key = RunKey(RunKind.WORKFLOW, str(uuid.uuid4()), "a", 1)
    assert directory.noted_boot(key) == ""
    for boot in ("first", "second"):
        directory.note_boot(key, boot)
    assert directory.noted_boot(key) == "first"
    assert directory.noted_boot(RunKey(RunKind.WORKFLOW, key.owner, "a", 2)) == ""
    directory.forget_workflow(key.owner)
    assert directory.noted_boot(key) == ""


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(state_dir.StateError, match=r"the state directory .*file/state cannot be used: Not a directory"):
        state_dir.StateDir.open(tmp_path / "file" / "state")


def test_it_is_nobody_else_s_to_read(directory: state_dir.StateDir) -> None:
    assert directory.path.stat().st_mode & 0o077 == 0


def test_each_worker_has_its_own_files_of_a_workflow(directory: state_dir.StateDir) -> None:
    workflow = str(uuid.uuid4())
    first, second = directory.workflow_dir(workflow, "m-1"), directory.workflow_dir(workflow, "m-2")
    assert first != second
    first.mkdir(parents=True)
    (first / "data").write_text("kept")
    assert (directory.workflow_dir(workflow, "m-1") / "data").read_text() == "kept"
    assert directory.workflows() == [workflow]
    directory.forget_workflow(workflow)
    directory.forget_workflow(workflow)
    assert directory.workflows() == []


def test_what_is_no_workflow_is_not_one(directory: state_dir.StateDir) -> None:
    (directory.path / "workflows" / "lost+found").mkdir()
    assert directory.workflows() == []


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", ".hidden", "a\0b", "a b"])
def test_an_id_cannot_lead_out_of_it(directory: state_dir.StateDir, name: str) -> None:
    with pytest.raises(state_dir.StateError, match="is not an id"):
        directory.workflow_dir(name, "m-1")
    with pytest.raises(state_dir.StateError, match="is not an id"):
        directory.run_dir(RunKey(RunKind.WORKFLOW, "w", name, 1))


def test_a_run_is_created_once(directory: state_dir.StateDir) -> None:
    assert directory.create_run(KEY, {"spec.json": b"{}"})
    assert not directory.create_run(KEY, {"spec.json": b"{}"})
    assert directory.run_dirs() == [directory.run_dir(KEY)]
    assert (directory.run_dir(KEY) / "spec.json").read_bytes() == b"{}"


def test_a_removed_run_is_gone_and_removing_it_again_is_fine(directory: state_dir.StateDir) -> None:
    directory.create_run(KEY, {"spec.json": b"{}"})
    state_dir.remove_run(directory.run_dir(KEY))
    state_dir.remove_run(directory.run_dir(KEY))
    assert directory.run_dirs() == []


def test_what_a_death_left_half_done_is_swept(directory: state_dir.StateDir) -> None:
    scrap = directory.path / "runs" / "a.1.0123.scrap"
    scrap.mkdir()
    (scrap / "spec.json").write_text("{}")
    assert directory.run_dirs() == []
    with opened(directory.path):
        assert scrap.exists()  # it may be what a sibling has not finished yet
    directory.close()
    again = state_dir.StateDir.open(directory.path)
    assert not scrap.exists()
    directory._lock = again._lock


@pytest.mark.parametrize("name", ["", "runs", "workflows", "claims"])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "state" / name).mkdir(parents=True)
    (tmp_path / "state" / name).chmod(0o777)
    with pytest.raises(state_dir.StateError, match=r"other accounts may write there, for its mode is 0777: take that"):
        state_dir.StateDir.open(tmp_path / "state")


def test_a_link_in_place_of_a_folder_is_refused_and_one_to_the_directory_is_not(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "state")
    with opened(tmp_path / "link") as directory:
        assert directory.slot == 0
    (tmp_path / "state" / "runs").rmdir()
    (tmp_path / "state" / "runs").symlink_to(tmp_path)
    with pytest.raises(
        state_dir.StateError, match=r"runs cannot be used .*: it is no folder, or a link to one: remove it"
    ):
        state_dir.StateDir.open(tmp_path / "state")


@other_account.as_root
@pytest.mark.parametrize("name", ["", "runs"])
@pytest.mark.parametrize("is_link", [False, True])
def test_a_folder_of_another_account_is_refused(tmp_path: Path, name: str, is_link: bool) -> None:
    other = other_account.found()
    folder = tmp_path / "state" / name
    folder.parent.mkdir(exist_ok=True)
    if is_link:
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir(exist_ok=True)
    os.chown(folder, other.uid, other.gid, follow_symlinks=False)
    with pytest.raises(state_dir.StateError, match=r"it belongs to another account|it is no folder, or a link to one"):
        state_dir.StateDir.open(tmp_path / "state")


@pytest.mark.parametrize("name", ["lock", "opening"])
def test_no_link_is_opened_in_place_of_a_lock(tmp_path: Path, name: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / name).symlink_to(tmp_path / "victim")
    with pytest.raises(state_dir.StateError, match="cannot be used"):
        state_dir.StateDir.open(tmp_path / "state")
    assert not (tmp_path / "victim").exists()


def test_who_may_pass_through_lists_and_reads_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as directory:
        directory.let_through()
        folder = directory.workflow_dir(str(uuid.uuid4()), "worker")
        folder.mkdir(parents=True)
        assert directory.clear_way(folder)
        assert not directory.clear_way(tmp_path)
        directory.create_run(KEY, {"spec.json": b"{}"})
        open_ = {path for path in tmp_path.rglob("*") if path.is_dir() and path.stat().st_mode & 0o077}
        assert open_ - {folder} == {
            directory.path,
            directory.release_dir,
            directory.path / "runs",
            directory.run_dir(KEY),
            directory.path / "workflows",
            folder.parent,
        }
        assert {path.stat().st_mode & 0o777 for path in open_ - {folder}} == {0o711}
        files = [path for path in directory.path.rglob("*") if path.is_file()]
        assert len(files) > 3
        assert not any(path.stat().st_mode & 0o077 for path in files)
