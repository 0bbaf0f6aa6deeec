"""Tries charms without a server: the same rules give their units the same events."""

from tinkwell.charm.testing.model import Model, TaskResult

__all__ = ["Model", "TaskResult"]
