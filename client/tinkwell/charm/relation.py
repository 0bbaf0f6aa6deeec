"""A relation, as one event's handlers see it."""

from collections.abc import Awaitable, Callable, Mapping

from tinkwell.charm.bag import Bag

ReadBag = Callable[[int, str], Awaitable[Mapping[str, str]]]


class Relation:
    """One relation of the unit. It is the same object for all handlers of an event.

    `number`: its number in the namespace. `endpoint`: the charm's endpoint. `remote_application`: who is at the other
    end; in a peer relation the unit's own application. `units`: the units that it has with the unit, but for the unit
    itself. `is_active`: False where it is gone, as when an event comes back after it was put off.

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
        """Read the bag of another unit or application, such as `pg/0` or `pg`; it stays the same within an event."""
        return await self._read(self.number, owner)
