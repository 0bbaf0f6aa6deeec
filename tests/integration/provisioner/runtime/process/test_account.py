"""Runs as another account, which gets at its own files and at nothing of the provisioner's."""

import os
import pwd
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from integration.provisioner.process_harness import ProcessHarness, is_alive, pid_in, start_waiting
from unit.provisioner import conformance
from unit.provisioner.conformance import new_key, texts, wait

from support import other_account
from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import port
from tinkwell.provisioner.runtime.process import account

pytestmark = other_account.as_root


@pytest.fixture
async def harness() -> AsyncIterator[ProcessHarness]:
    with other_account.folder() as folder:
        harness = ProcessHarness(folder, other_account.found())
        yield harness
        await harness.close()


def owner_of(path: Path) -> int:
    return path.stat().st_uid


async def test_a_run_is_of_the_account_with_its_groups_and_no_others(harness: ProcessHarness) -> None:
    run = await harness.runtime.start(harness.spec(new_key(), "grep -E '^(Uid|Gid|Groups):' /proc/self/status"))
    other = pwd.getpwnam(other_account.NAME)
    groups = os.getgrouplist(other.pw_name, other.pw_gid)
    assert [list(map(int, line.split()[1:])) for line in await texts(run)] == [
        [other.pw_uid] * 4,
        [other.pw_gid] * 4,
        groups,
    ]


async def test_files_of_a_workflow_are_the_account_s_and_shared_by_its_actions(harness: ProcessHarness) -> None:
    first = new_key()
    await wait(await harness.runtime.start(harness.spec(first, "echo left > here")))
    second = new_key(owner=first.owner)
    run = await harness.runtime.start(harness.spec(second, "cat $WORKFLOW_DIR/here; pwd; echo more >> here"))
    folder = harness.files / first.owner
    assert await texts(run) == ["left", str(folder)]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_uid == other_account.found().uid
    assert (folder / "here").read_text() == "left\nmore\n"


async def test_the_document_of_a_workflow_is_written_by_its_actions_too(harness: ProcessHarness) -> None:
    key, worker = new_key(), str(uuid.uuid4())
    harness.directory.bring_document(key.owner, worker, content=b'{"a": 1}')
    files = port.Mount(
        source=str(harness.directory.workflow_dir(key.owner, worker)), target="/workflow", may_create=True
    )
    spec = port.RunSpec(key=key, image="shell", command=("cat data; echo '{}' > data",), mounts=(files,))
    run = await harness.runtime.start(spec)
    assert await texts(run) == ['{"a": 1}']
    assert harness.directory.read_document(key.owner, worker, max_bytes=100) == b"{}\n"


async def test_a_workspace_is_the_account_s_with_the_files_in_it(harness: ProcessHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    script = "cat; cat sub/a; echo changed > sub/a; cat $PWD/sub/a; touch new; ls"
    files = {"sub/a": b"given\n"}
    workspace = harness.runtime.workspace(key)
    spec = harness.spec(key, script, workdir=workspace, files=files, stdin=b"said\n")
    assert await texts(await harness.runtime.start(spec)) == ["said", "given", "changed", "new", "sub"]


async def test_what_the_provisioner_keeps_is_closed_to_it(harness: ProcessHarness) -> None:
    key = new_key(kind=RunKind.RELEASE)
    await wait(await harness.runtime.start(harness.spec(key, "cat; echo said", stdin=b"x", answer_bytes=10)))
    state, run_dir = harness.directory.path, harness.directory.run_dir(key)
    kept = [run_dir / name for name in ("spec.json", "answer", "output", "exit")]
    look = "; ".join(f"cat {path} && echo {path.name}" for path in [*kept, state / "lock", state / "opening"])
    folders = "; ".join(f"ls {path} && echo {path.name}" for path in (state, run_dir.parent, run_dir, state / "claims"))
    links = f"ln -s /etc/passwd {run_dir}/link && echo link; kill -9 {os.getpid()} && echo kill"
    run = await harness.runtime.start(
        harness.spec(new_key(), f"{{ {look}; {folders}; {links}; }} 2>/dev/null; echo end")
    )
    assert await texts(run) == ["end"]


async def test_its_supervisor_is_beyond_its_reach_and_kills_it(harness: ProcessHarness) -> None:
    key, run = await start_waiting(harness, "{ kill -9 $PPID; cat /proc/$PPID/environ; } 2>&-; echo ready; sleep 1000")
    entry_point = pid_in(harness, key, "process")
    assert is_alive(pid_in(harness, key, "shim"))
    await run.kill()
    assert not is_alive(entry_point)
    assert (await wait(run)).code == 137


async def test_an_image_that_the_account_cannot_run_is_said_to_be_so(harness: ProcessHarness) -> None:
    (harness.images / "shell" / "run").chmod(0o700)
    with pytest.raises(port.RunError, match=r"did not start: .*Permission denied") as caught:
        await harness.runtime.start(harness.spec(new_key(), "true"))
    assert caught.value.reason is port.Reason.ENTRY_POINT


async def test_a_link_in_place_of_a_folder_is_given_to_nobody(harness: ProcessHarness, tmp_path: Path) -> None:
    key = new_key()
    harness.files.mkdir(exist_ok=True)
    (harness.files / key.owner).symlink_to(tmp_path)
    with pytest.raises(port.RunError, match="cannot use its files"):
        await harness.runtime.start(harness.spec(key, "true"))
    assert owner_of(tmp_path) == 0


async def test_a_folder_of_the_operator_s_stays_the_operator_s(harness: ProcessHarness, tmp_path: Path) -> None:
    mount = port.Mount(source=str(tmp_path), target="/data")
    spec = conformance.spec_of(
        harness.runtime, harness.files, new_key(), image="shell", command=("id -u",), mounts=(mount,)
    )
    assert await texts(await harness.runtime.start(spec)) == [str(other_account.found().uid)]
    assert owner_of(tmp_path) == 0


def test_a_folder_that_the_account_cannot_enter_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(
        port.RunError, match=f"nobody of --process-user cannot enter the state directory, {tmp_path}: cho"
    ):
        other_account.found().check_reach("the state directory", tmp_path)
    other_account.found().check_reach("the state directory", Path("/"))


def test_an_account_is_known_by_name_or_number() -> None:
    other = pwd.getpwnam(other_account.NAME)
    assert account.find(str(other.pw_uid)) == account.find(other_account.NAME)
    for name in ("no-such-account", "4294967294", "9" * 30):
        with pytest.raises(ValueError, match="is no account of this machine"):
            account.find(name)


def test_only_root_starts_processes_as_another_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ValueError, match="only root can start processes as nobody: run this as that account instead"):
        account.find(other_account.NAME)
