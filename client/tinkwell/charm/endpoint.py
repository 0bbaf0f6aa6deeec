"""Endpoints: where a charm's applications are related to others."""

from collections.abc import Iterator
from typing import ClassVar, Self, overload

from tinkwell.charm import errors, event
from tinkwell.charm.attempt.situation import Situation
from tinkwell.charm.declaration import Holder, Hook
from tinkwell.charm.relation import Relation
from tinkwell.core.charm.record import Role


class Relations:
    """The relations of one endpoint; it is what the endpoint is in a charm's methods."""

    def __init__(self, endpoint: "Endpoint", situation: Situation) -> None:
        self._endpoint = endpoint
        self._situation = situation

    def __iter__(self) -> Iterator[Relation]:
        """Iterate over them by number."""
        return iter([each for each in self._situation.relations if each.endpoint == self._endpoint.name])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, relation: Relation | int) -> Relation:
        """Return a relation of this endpoint by its number; a relation stands for itself. Raises `KeyError`."""
        number = relation if isinstance(relation, int) else relation.number
        for each in self:
            if each.number == number:
                return each
        if isinstance(relation, Relation) and relation.endpoint == self._endpoint.name:
            return relation  # it is gone
        raise KeyError(f"endpoint {self._endpoint.name} has no relation {number}")

    def only(self) -> Relation | None:
        """Return the only relation of the endpoint; None where there is none. Raises `LookupError` for several."""
        found = list(self)
        if len(found) > 1:
            raise LookupError(f"endpoint {self._endpoint.name} has {len(found)} relations; iterate over them")
        return found[0] if found else None


class Endpoint:
    """A name under which a charm is related, and the interface that both sides speak.

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
        """Return the relations of the charm's unit; in the class the endpoint itself."""
        return self if charm is None else Relations(self, charm.situation)

    def __set__(self, charm: Holder, value: object) -> None:
        """Refuse: the server says which relations there are."""
        raise errors.CharmError(f"endpoint {self.name} cannot be set")


class Provides(Endpoint):
    """An endpoint at which others get something from this charm."""

    role = Role.PROVIDES


class Requires(Endpoint):
    """An endpoint at which this charm gets something from others."""

    role = Role.REQUIRES


class Peer(Endpoint):
    """An endpoint at which the units of an application meet each other. Its relation is there from the beginning."""

    role = Role.PEER
