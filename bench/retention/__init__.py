"""Dropping the oldest partition of a large log under the feet of writers and watchers."""

from bench.retention.case import run

__all__ = ["run"]
