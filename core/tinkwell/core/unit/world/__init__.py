"""Applications and units as a server keeps them, in memory: pure, and by the same rules."""

from tinkwell.core.unit.world.charm import Charm, Endpoint, Role
from tinkwell.core.unit.world.state import Application, LogEntry, Relation, Running, Storage, Unit
from tinkwell.core.unit.world.world import World

__all__ = ["Application", "Charm", "Endpoint", "LogEntry", "Relation", "Role", "Running", "Storage", "Unit", "World"]
