"""Settings that gRPC reads when it is imported, so this module comes first."""

import os

# With fork support on, closing a process's last channel rebuilds gRPC's event engine and leaks. Nothing here forks.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# What goes wrong reaches the caller as an error; gRPC's own notes on standard error are for its developers.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
