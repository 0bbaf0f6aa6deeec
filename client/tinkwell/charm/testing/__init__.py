"""Tests charms without a server: the same rules as on the server give their units events."""

from tinkwell.charm.testing.model import Model, TaskResult

__all__ = ["Model", "TaskResult"]
