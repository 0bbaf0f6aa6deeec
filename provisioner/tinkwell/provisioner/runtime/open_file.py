"""The limit of open files: the provisioner raises its own as far as it may, since each run needs some files."""

import contextlib
import resource

# The limit that this process was started with. Programs that it starts get this one, because some programs try every
# file number below the limit.
AT_START = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_limit() -> None:
    """Raise the soft limit to the hard limit.

    The soft limit protects programs that use select(), which the provisioner does not.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The kernel also has a global limit, which may be lower than the hard limit; then the call fails.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
