"""From the creation of a workflow to the report that its first action runs, by an agent that had nothing to do."""

from bench.dispatch.case import run

__all__ = ["run"]
