"""What machines, watchers and releases cost at three sizes, each ten times the one before."""

from bench.scale.case import run

__all__ = ["run"]
