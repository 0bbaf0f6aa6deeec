"""Fan-out beside etcd: one log, many watchers, the same Python client technique on both sides."""

from bench.fanout.case import run

__all__ = ["run"]
