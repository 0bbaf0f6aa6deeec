"""Programs as another account, which only root can start; who needs one asks here, and is skipped elsewhere."""

import functools
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tinkwell.provisioner.runtime.process import account

NAME = "nobody"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


def found() -> account.Account:
    """Return the other account."""
    return account.find(NAME)


def run(*command: str, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run a command as the other account, and return what it says."""
    other = pwd.getpwnam(NAME)
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command,
        user=other.pw_uid,
        group=other.pw_gid,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


@functools.cache
def python() -> str:
    """Return a Python of this version that the other account may start; skips where there is none."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        if Path(candidate).exists() and run("/usr/bin/env", candidate, "-I", "-c", "", env={}).returncode == 0:
            return candidate
    pytest.skip(f"{NAME} can start no Python {version} here")


def skip_unless_it_imports(module: str, places: Sequence[str]) -> None:
    """Skip where the other account may not read what it is to import, such as a checkout that is its owner's alone."""
    tried = run(python(), "-c", f"import {module}", env={"PYTHONPATH": ":".join(places)})
    if tried.returncode:
        pytest.skip(f"{NAME} cannot import {module} from here: {tried.stderr.strip()[-200:]}")


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder that other accounts may enter, and that is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="tinkwell-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
