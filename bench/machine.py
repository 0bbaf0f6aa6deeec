"""On what the benchmarks ran: the machine and the versions of everything that takes part."""

import datetime
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from importlib import metadata
from pathlib import Path

from bench.cluster import Cluster
from bench.result import span
from bench.statistic import spread

_PACKAGES = ("tinkwell", "grpcio", "protobuf", "asyncpg")
_ANSWER_SECONDS = 20
_BLOCK_BYTES = 8_192
_FLUSHES = 200


def describe(cluster: Cluster, *, commit: str) -> dict[str, str]:
    """Return the facts by name."""
    settings = ", ".join(f"{name} = {value}" for name, value in cluster.settings.items())
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES)
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit,
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{_system()}, Linux {platform.release()}",
        "Python": f"{platform.python_version()} ({packages})",
        "file system": file_system(Path(tempfile.gettempdir()), Path("/proc/self/mountinfo").read_text()),
        "PostgreSQL": f"{cluster.version} ({settings})",
        "etcd": _etcd(),
        "write and flush of 8 kB": _flush(),
    }


def revision(root: Path) -> str:
    """Return the commit that is checked out, and whether files differ from it."""
    described = _answer("git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12")
    return described or "unknown"


def file_system(path: Path, mounts: str) -> str:
    """Return the type of what a path is on, as /proc/self/mountinfo tells, and whether it discards deleted blocks."""
    found = "unknown"
    # The last of those mounted at the same place hides the others.
    for mounted in sorted(map(str.split, mounts.splitlines()), key=lambda fields: len(fields[4])):
        if path.resolve().is_relative_to(mounted[4]):
            kind, options = mounted[mounted.index("-") + 1], mounted[-1].split(",")
            found = f"{kind}, {'with' if 'discard' in options else 'without'} discard"
    return found


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _etcd() -> str:
    found = re.search(r"etcd Version: (\S+)", _answer("etcd", "--version"))
    return found.group(1) if found else "not installed"


def _flush() -> str:
    """Measure what a commit waits for: a block written over one that is there, and fdatasync."""
    block = bytes(_BLOCK_BYTES)
    took = []
    with tempfile.NamedTemporaryFile() as file:
        os.pwrite(file.fileno(), block, 0)
        os.fsync(file.fileno())
        for _ in range(_FLUSHES):
            began = time.perf_counter()
            os.pwrite(file.fileno(), block, 0)
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return f"{span(spread(took), scale=1000)} ms by fdatasync"


def _answer(program: str, *arguments: str) -> str:
    if shutil.which(program) is None:
        return ""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS)
    return done.stdout.strip() if done.returncode == 0 else ""
