"""Thousands of watchers to whom nothing happens: what they cost, and what they cost the one to whom it does."""

from bench.idle.case import run

__all__ = ["run"]
