"""A relation, as the handlers of an event see it."""

from collections.abc import Awaitable, Callable, Mapping

from tinkwell.charm.bag import Bag

ReadBag = Callable[[int, str], Awaitable[Mapping[str, str]]]


class Relation:
    """A relation of the unit. All handlers of an event get the same object.

    `number`: its number in the namespace. `endpoint`: the charm's endpoint. `remote_application`: the application on
    the other side; in a peer relation the unit's own. `units`: the units on the other side that have joined; in a peer
    relation the others of the application. `is_active`: False if the relation is gone, for example when a deferred
    event comes back.

    `unit` is the unit's own bag, which the other side reads, and `application` that of its application, which only the
    leader writes, and reads, but for peers.
    """

    def __init__(
        self,
        number: int,
        *,
        endpoint: str,
        remote_application: str,
        units: tuple[str, ...],
        is_active: bool,
        unit: Bag,
        application: Bag,
        read: ReadBag,
    ) -> None:
        self.number = number
        self.endpoint = endpoint
        self.remote_application = remote_application
        self.units = units
        self.is_active = is_active
        self.unit = unit
        self.application = application
        self._read = read

    def __repr__(self) -> str:
        return f"<Relation {self.endpoint}:{self.number} with {self.remote_application}>"

    async def read(self, owner: str) -> Mapping[str, str]:
        """Read the bag of another unit or application, such as `pg/0` or `pg`. It does not change during an event."""
        return await self._read(self.number, owner)
