"""How many files the provisioner may open: as many as the system allows, since each run takes some."""

import contextlib
import resource

# What this process was started with. Programs that it starts have no more: some look at every number below the limit.
AT_START = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_limit() -> None:
    """Raise the limit to the one that nobody but root may raise.

    The lower limit is there for programs that use select(), which this one does not.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The kernel has a limit for all, too, which may have been lowered below this one.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
