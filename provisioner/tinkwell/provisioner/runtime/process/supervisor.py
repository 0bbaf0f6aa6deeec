"""How supervisors of processes are started: in little time, and knowing nothing of who starts them.

One of them is a program of Python that imports nothing but the standard library, and little of that, so that it starts
within some 20 ms. Programs can read the environment of the process that they are children of, so it must have nothing
in its own but what the program may know.
"""

import sys
from pathlib import Path

from tinkwell.provisioner.runtime import open_file

_ROOT = Path(__file__).parents[4]
# Our path comes last, so that nothing there stands in for a module of the standard library.
_BOOT = (
    "import resource as r, sys; sys.path.append(sys.argv.pop(1)); "
    "r.setrlimit(r.RLIMIT_NOFILE, (int(sys.argv.pop(1)), r.getrlimit(r.RLIMIT_NOFILE)[1])); "
    "from tinkwell.provisioner.runtime.process import {module}; sys.exit({module}.main(sys.argv[1:]))"
)


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `main` of a module of this folder with arguments."""
    boot = _BOOT.format(module=module)
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", boot, str(_ROOT), str(open_file.AT_START), *arguments]
