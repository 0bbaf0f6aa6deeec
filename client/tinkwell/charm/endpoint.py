"""Endpoints, at which applications of a charm are related to others."""

from collections.abc import Iterator
from typing import ClassVar, Self, overload

from tinkwell.charm import errors, event
from tinkwell.charm.attempt.situation import Situation
from tinkwell.charm.declaration import Holder, Hook
from tinkwell.charm.relation import Relation
from tinkwell.core.charm.record import Role


class Relations:
    """The relations of one endpoint. Reading an endpoint as an attribute of a charm gives this object."""

    def __init__(self, endpoint: "Endpoint", situation: Situation) -> None:
        self._endpoint = endpoint
        self._situation = situation

    def __iter__(self) -> Iterator[Relation]:
        """Iterate over them by number."""
        return iter([each for each in self._situation.relations if each.endpoint == self._endpoint.name])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, relation: Relation | int) -> Relation:
        """Return a relation of this endpoint, given by its number or as a relation. Raises `KeyError`."""
        number = relation if isinstance(relation, int) else relation.number
        for each in self:
            if each.number == number:
                return each
        if isinstance(relation, Relation) and relation.endpoint == self._endpoint.name:
            return relation  # it is gone
        raise KeyError(f"endpoint {self._endpoint.name} has no relation {number}")

    def only(self) -> Relation | None:
        """Return the only relation of the endpoint, or None. Raises `LookupError` if there are several."""
        found = list(self)
        if len(found) > 1:
            raise LookupError(f"endpoint {self._endpoint.name} has {len(found)} relations; iterate over them")
        return found[0] if found else None


class Endpoint:
    """An endpoint: a name for relations of a charm, and the interface that both sides use.

    `limit`: how many relations it may have at a time, 0 for any number. `created`, `joined`, `changed`, `departed` and
    `broken` make methods handlers of its events.
    """

    role: ClassVar[Role]

    def __init__(self, name: str, *, interface: str, limit: int = 0) -> None:
        self.name = name
        self.interface = interface
        self.limit = limit
        self.created = Hook(event.RelationCreated, name)
        self.joined = Hook(event.RelationJoined, name)
        self.changed = Hook(event.RelationChanged, name)
        self.departed = Hook(event.RelationDeparted, name)
        self.broken = Hook(event.RelationBroken, name)

    @overload
    def __get__(self, charm: None, owner: type) -> Self: ...

    @overload
    def __get__(self, charm: Holder, owner: type) -> Relations: ...

    def __get__(self, charm: Holder | None, owner: type) -> Self | Relations:
        """Return the relations of the charm's unit; read from the class, the endpoint itself."""
        return self if charm is None else Relations(self, charm.situation)

    def __set__(self, charm: Holder, value: object) -> None:
        """Refuse: a charm cannot set its relations."""
        raise errors.CharmError(f"endpoint {self.name} cannot be set")


class Provides(Endpoint):
    """An endpoint at which this charm offers something to others."""

    role = Role.PROVIDES


class Requires(Endpoint):
    """An endpoint at which this charm uses something of others."""

    role = Role.REQUIRES


class Peer(Endpoint):
    """An endpoint for a relation among the units of an application, which exists from the beginning."""

    role = Role.PEER
