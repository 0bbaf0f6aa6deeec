"""A provisioner that gives the calls of an operation two seconds, rather than thirty, once its time is over.

Run as `python -m support.hasty_provisioner ARGUMENT…`, where the arguments are those of `tinkwell provisioner`.
"""

import sys

from tinkwell.core.release.decision import decide
from tinkwell.provisioner.app import commands

GRACE_SECONDS = 2

if __name__ == "__main__":
    setattr(decide, "GRACE_SECONDS", GRACE_SECONDS)  # noqa: B010  (mypy asks for it)
    commands.provisioner(sys.argv[1:])
