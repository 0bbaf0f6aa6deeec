"""Environment variables that gRPC reads when it is imported, so this module must be imported first."""

import os

# With fork support, gRPC rebuilds its event engine each time that a process closes its last channel, and leaks memory.
# The client never forks.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# The caller gets failures as errors. gRPC's own messages on standard error are meant for its developers.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
