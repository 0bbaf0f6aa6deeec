"""One transaction of many changes: how soon all of them are delivered, by itself and beside other writers."""

from bench.large.case import run

__all__ = ["run"]
