"""What a world knows of a charm: what it declares, and no code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tinkwell.core.unit.kinds import CharmKind


class Role(StrEnum):
    """The side of a relation that an endpoint takes."""

    PROVIDES = "provides"
    REQUIRES = "requires"
    PEERS = "peers"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place where relations begin."""

    role: Role
    interface: str


@dataclass(frozen=True, slots=True)
class Charm:
    """A charm. `endpoints` are by name; `storage` has the name of each storage that a unit is born with.

    `optional_storage` has those that a unit has none of unless somebody asks for it.
    """

    name: str
    digest: str
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    storage: tuple[str, ...] = ()
    kind: CharmKind = CharmKind.NATIVE
    optional_storage: tuple[str, ...] = ()

    def has_storage(self, name: str) -> bool:
        """Whether units may have a storage of this name."""
        return name in self.storage or name in self.optional_storage

    def of_role(self, role: Role) -> Mapping[str, Endpoint]:
        """Return the endpoints of a role, in the order of their names."""
        return {name: self.endpoints[name] for name in sorted(self.endpoints) if self.endpoints[name].role is role}
