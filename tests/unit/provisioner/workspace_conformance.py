"""What every runtime must do with the workspace of a run. A module of tests inherits it beside `RuntimeConformance`."""

import pytest
from unit.provisioner.conformance import Harness, Program, new_key, texts, wait

from tinkwell.core.value.run_key import RunKind
from tinkwell.provisioner.runtime import port


class WorkspaceConformance:
    async def test_a_workspace_is_empty_and_can_be_written(self, harness: Harness) -> None:
        for _ in range(2):
            key = new_key(kind=RunKind.RELEASE)
            workspace = harness.runtime.workspace(key)
            run = await harness.runtime.start(harness.spec(key, Program.SETTLE, workdir=workspace))
            assert await texts(run) == [workspace, "own-file"]

    async def test_a_workspace_has_the_files_that_are_given_a_copy_for_each_run(self, harness: Harness) -> None:
        files = {"a.txt": b"changed by each", "sub/deep/b.txt": b"\xc3\xa9 b\n", "sub/c": b"", f"{'long' * 40}": b""}
        for _ in range(2):
            key = new_key(kind=RunKind.RELEASE)
            workspace = harness.runtime.workspace(key)
            spec = harness.spec(key, Program.UNPACK, workdir=workspace, files=files, stdin=b"go")
            run = await harness.runtime.start(spec)
            assert await texts(run) == ["./a.txt", f"./{'long' * 40}", "./sub/c", "./sub/deep/b.txt", "é b"]
            assert (await wait(run)).code == 0

    @pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "", "a//b", "a/\0"])
    async def test_a_file_that_would_leave_the_workspace_starts_nothing(self, harness: Harness, path: str) -> None:
        key = new_key(kind=RunKind.RELEASE)
        spec = harness.spec(key, Program.GREET, workdir=harness.runtime.workspace(key), files={path: b"x"}, stdin=b"")
        with pytest.raises(port.RunError, match="is no path below a workspace") as caught:
            await harness.runtime.start(spec)
        assert caught.value.reason is port.Reason.SPECIFICATION
        assert await harness.runtime.find(key) is None

    async def test_a_workspace_takes_8_mib_of_files_and_no_more(self, harness: Harness) -> None:
        key = new_key(kind=RunKind.RELEASE)
        fields = {"workdir": harness.runtime.workspace(key), "stdin": b""}
        files = {"a": bytes(4 * 1024 * 1024), "b": bytes(4 * 1024 * 1024)}
        run = await harness.runtime.start(harness.spec(key, Program.GREET, files=files, **fields))
        assert (await wait(run)).code == 0
        key = new_key(kind=RunKind.RELEASE)
        fields["workdir"] = harness.runtime.workspace(key)
        with pytest.raises(port.RunError, match="at most 8,388,608 are allowed"):
            await harness.runtime.start(harness.spec(key, Program.GREET, files=files | {"c": b"x"}, **fields))
        assert await harness.runtime.find(key) is None
