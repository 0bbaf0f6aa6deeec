"""Thousands of machines pushed from one file by the command."""

from bench.bulk.case import run

__all__ = ["run"]
