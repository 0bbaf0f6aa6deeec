"""Applications and units as a server keeps them, but in memory and by the same rules."""

from tinkwell.core.unit.world.charm import Charm, Endpoint, Role
from tinkwell.core.unit.world.state import (
    Application,
    Granted,
    LogEntry,
    Relation,
    Revision,
    Running,
    Secret,
    Storage,
    Task,
    Unit,
)
from tinkwell.core.unit.world.world import World

__all__ = [
    "Application",
    "Charm",
    "Endpoint",
    "Granted",
    "LogEntry",
    "Relation",
    "Revision",
    "Role",
    "Running",
    "Secret",
    "Storage",
    "Task",
    "Unit",
    "World",
]
