"""How many files the provisioner may open: as many as the system allows, since each run takes some."""

import contextlib
import resource


def raise_limit() -> None:
    """Raise the limit to the one that nobody but root may raise.

    The lower limit is there for programs that use select(), which this one does not.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The kernel has a limit for all, too, which may have been lowered below this one.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
