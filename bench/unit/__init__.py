"""What the events of units cost: on their way through the whole system, in crowds, at rest, and after a death."""

from bench.unit.case import run

__all__ = ["run"]
