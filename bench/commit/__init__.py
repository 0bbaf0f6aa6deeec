"""Commit throughput through the real schema: with the bell, without any notification, and with NOTIFY each time."""

from bench.commit.case import run

__all__ = ["run"]
