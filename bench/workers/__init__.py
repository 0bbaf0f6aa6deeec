"""One server process or two behind one port, with the same watchers and writers."""

from bench.workers.case import run

__all__ = ["run"]
