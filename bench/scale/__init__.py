"""The cost of machines, watchers and releases at three sizes, each ten times the one before."""

from bench.scale.case import run

__all__ = ["run"]
