"""How many actions that do nothing go through the whole system, beside other systems that keep steps in PostgreSQL."""

from bench.throughput.case import run

__all__ = ["run"]
