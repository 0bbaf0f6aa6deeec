"""What releases cost: a call of a resource, an unchanged release, a chain, transitions, and the death of an owner."""

from bench.release.case import run

__all__ = ["run"]
