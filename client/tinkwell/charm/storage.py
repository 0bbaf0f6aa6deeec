"""Storages: folders with data of a unit, which may outlive the unit."""

from typing import Self, overload

from tinkwell.charm import errors, event
from tinkwell.charm.attempt.situation import Situation
from tinkwell.charm.declaration import Holder, Hook
from tinkwell.charm.instance import Instance


class Instances:
    """The storages of one declaration. Reading a `Storage` as an attribute of a charm gives this object."""

    def __init__(self, declared: "Storage", situation: Situation) -> None:
        self._declared = declared
        self._situation = situation

    def all(self) -> tuple[Instance, ...]:
        """Return the storages that the unit has, by name."""
        return tuple(each for each in self._situation.storages if each.declared_name == self._declared.name)

    def one(self) -> Instance:
        """Return the only storage. Raises `StorageMissing` if the unit has none, or several."""
        found = self.all()
        if len(found) != 1:
            counts = f"{len(found)} storages {self._declared.name}, where one was asked for"
            raise errors.StorageMissing(f"{self._situation.attempt.unit} has {counts}")
        return found[0]

    def request(self, count: int = 1) -> None:
        """Ask for more storages; the unit gets `storage-attached` for each after this event."""
        if count < 1:
            raise ValueError(f"{count} storages {self._declared.name} cannot be asked for; ask for 1 or more")
        wanted = self._situation.wanted_storages
        wanted[self._declared.name] = wanted.get(self._declared.name, 0) + count


class Storage:
    """A declaration of storages that each unit has from its creation on.

    A unit has at least `minimum` and at most `maximum` of them; None means any number.
    `attached` and `detaching` make methods handlers of its events.
    """

    def __init__(self, name: str, *, minimum: int = 1, maximum: int | None = 1, description: str = "") -> None:
        self.name = name
        self.minimum = minimum
        self.maximum = maximum
        self.description = description
        self.attached = Hook(event.StorageAttached, name)
        self.detaching = Hook(event.StorageDetaching, name)

    @overload
    def __get__(self, charm: None, owner: type) -> Self: ...

    @overload
    def __get__(self, charm: Holder, owner: type) -> Instances: ...

    def __get__(self, charm: Holder | None, owner: type) -> Self | Instances:
        """Return the storages of the charm's unit; read from the class, the declaration itself."""
        return self if charm is None else Instances(self, charm.situation)

    def __set__(self, charm: Holder, value: object) -> None:
        """Refuse: a charm cannot set its storages."""
        raise errors.CharmError(f"storage {self.name} cannot be set")
