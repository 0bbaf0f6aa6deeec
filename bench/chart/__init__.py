"""What charts cost: their order beside none, graphs and values of many, and how long a server is held by them."""

from bench.chart.case import run

__all__ = ["run"]
