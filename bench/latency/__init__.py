"""From commit to callback: Tinkwell beside two classic designs, whose NOTIFY carries the row or its id."""

from bench.latency.case import run

__all__ = ["run"]
