"""Builds the command that starts a supervisor: one that starts quickly and gets nothing of this process's environment.

A supervisor is a Python program that imports only a few modules of the standard library, so it starts within some
20 ms. A program can read the environment of its parent process, so a supervisor's environment must hold nothing that
its program may not know.
"""

import sys
from pathlib import Path

from tinkwell.provisioner.runtime import open_file

_ROOT = Path(__file__).parents[4]
# This package's path comes last, so that no module there hides one of the standard library.
_BOOT = (
    "import resource as r, sys; sys.path.append(sys.argv.pop(1)); "
    "r.setrlimit(r.RLIMIT_NOFILE, (int(sys.argv.pop(1)), r.getrlimit(r.RLIMIT_NOFILE)[1])); "
    "from tinkwell.provisioner.runtime.process import {module}; sys.exit({module}.main(sys.argv[1:]))"
)


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `main` of a module of this folder with arguments."""
    boot = _BOOT.format(module=module)
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", boot, str(_ROOT), str(open_file.AT_START), *arguments]
