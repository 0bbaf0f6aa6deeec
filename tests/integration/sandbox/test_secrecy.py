"""What other processes of an account get to know of one that hides."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support import other_account
from tinkwell.sandbox import secrecy

PROGRAM = """
import sys
import secrecy
if sys.argv[1] == "hidden":
    secrecy.hide()
print("ready", flush=True)
sys.stdin.read()
"""


@other_account.as_root
@pytest.mark.parametrize(("how", "is_read"), [("open", True), ("hidden", False)])
def test_a_process_that_hides_is_read_by_no_other_of_its_account(how: str, is_read: bool) -> None:
    with other_account.folder() as folder:
        (folder / "program.py").write_text(PROGRAM)
        shutil.copy(secrecy.__file__, folder)
        process = subprocess.Popen(
            [other_account.python(), str(folder / "program.py"), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=other_account.NAME,
            group=other_account.found().gid,
            extra_groups=[],
            env={"SECRET": "of the process"},
        )
        with process:
            assert process.stdin
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            for name in ("environ", "maps", "mem"):
                path = Path("/proc", str(process.pid), name)
                assert (other_account.run("head", "-c", "0", str(path)).returncode == 0) == is_read
            seen = other_account.run("cat", f"/proc/{process.pid}/environ").stdout
            assert ("of the process" in seen) == is_read
            process.stdin.close()
    assert process.returncode == 0
