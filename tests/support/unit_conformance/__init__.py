"""What every server answers about applications, to operators and to the agents of their units."""

from support.unit_conformance import application, event
from support.unit_conformance.check import CHECKS

__all__ = ["CHECKS", "application", "event"]
