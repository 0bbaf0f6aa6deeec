"""PostgreSQL whose flushes of the write-ahead log take longer: fdatasync, which it uses for nothing else, is delayed.

The programs are wrapped by scripts that load the delaying library, so that the run's other processes keep their speed.
"""

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench import cluster
from bench.cluster import Cluster
from tinkwell.server.app.dev import account, binaries, place

DELAY_MILLISECONDS = 2
_COMPILE_SECONDS = 60
_SOURCE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int fdatasync(int descriptor)
{
    static int (*flush)(int);
    struct timespec delay = {0, %d * 1000 * 1000};

    if (!flush)
        flush = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    nanosleep(&delay, NULL);
    return flush(descriptor);
}
"""
_SCRIPT = '#!/bin/sh\nexec env LD_PRELOAD={library} {program} "$@"\n'


class NotPossible(Exception):
    """The delay could not be compiled; the text says why."""


@asynccontextmanager
async def running() -> AsyncIterator[Cluster]:
    """Run a cluster of its own with the delay. Raises `NotPossible`."""
    with place.temporary() as directory:
        library = _compile(directory)
        programs = _readable(directory)
        wrapped = directory / "bin"
        wrapped.mkdir()
        for name in ("postgres", "initdb"):
            _wrap(wrapped / name, programs / name, library)
        (wrapped / "pgbench").symlink_to(programs / "pgbench")
        wrapped.chmod(0o755)
        async with cluster.running(bin_dir=wrapped) as slow:
            yield slow


def _compile(directory: Path) -> Path:
    source, library = directory / "delay.c", directory / "delay.so"
    source.write_text(_SOURCE % DELAY_MILLISECONDS)
    if shutil.which("gcc") is None:
        raise NotPossible("there is no gcc to compile the delay with")
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_SECONDS)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
        raise NotPossible(f"gcc could not compile the delay: {last}")
    library.chmod(0o755)
    return library


def _readable(directory: Path) -> Path:
    """Return PostgreSQL's programs where the account that runs it can read them."""
    found = binaries.find()
    if not account.unprivileged(owner=None).can_enter(Path(found.program("postgres"))):
        found = found.copy_to(directory / "programs")
    return found.directory


def _wrap(script: Path, program: Path, library: Path) -> None:
    script.write_text(_SCRIPT.format(library=library, program=program))
    script.chmod(0o755)
