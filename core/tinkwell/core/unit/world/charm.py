"""The declarations of a charm that a world needs; a world has no code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tinkwell.core.unit.kinds import CharmKind


class Role(StrEnum):
    PROVIDES = "provides"
    REQUIRES = "requires"
    PEERS = "peers"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A named end at which relations begin."""

    role: Role
    interface: str


@dataclass(frozen=True, slots=True)
class Charm:
    """A charm. `endpoints` are by name; `storage` names the storages that each new unit gets.

    `optional_storage` names those that a unit gets only on request.
    """

    name: str
    digest: str
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    storage: tuple[str, ...] = ()
    kind: CharmKind = CharmKind.NATIVE
    optional_storage: tuple[str, ...] = ()

    def has_storage(self, name: str) -> bool:
        return name in self.storage or name in self.optional_storage

    def of_role(self, role: Role) -> Mapping[str, Endpoint]:
        """Return the endpoints of a role, in the order of their names."""
        return {name: self.endpoints[name] for name in sorted(self.endpoints) if self.endpoints[name].role is role}
