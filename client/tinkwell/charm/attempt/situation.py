"""The data and objects that a charm gets for one event, and the changes of its handlers."""

from collections.abc import Collection, Mapping

from tinkwell.charm import errors
from tinkwell.charm.attempt.given import Attempt, RelationGiven, Surroundings
from tinkwell.charm.bag import Bag
from tinkwell.charm.instance import Instance
from tinkwell.charm.relation import Relation
from tinkwell.charm.secret import Secrets
from tinkwell.core.unit import name
from tinkwell.core.unit.effect import BagEdit, Effects, Notice, Port, StorageRequest
from tinkwell.core.unit.kinds import EventKind, Owner


class Situation:
    """The objects that the handlers of one event share, and their changes. `wanted_storages` is an effect."""

    def __init__(self, attempt: Attempt, surroundings: Surroundings) -> None:
        self.attempt = attempt
        self.surroundings = surroundings
        self.state = Bag(attempt.state)
        self.secrets = Secrets(attempt, surroundings)
        self._ports = set(attempt.ports)
        self.wanted_storages: dict[str, int] = {}
        self._bags: dict[tuple[int, str], Mapping[str, str]] = {}
        self._relations = {given.number: self._relation(given) for given in attempt.relations}
        self.storages = tuple(
            Instance(each, attempt.storages[each]) for each in sorted(attempt.storages, key=name.order)
        )

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All relations of the unit, by number."""
        return tuple(self._relations[number] for number in sorted(self._relations))

    @property
    def application(self) -> str:
        """The name of the unit's application."""
        return self.attempt.unit.partition("/")[0]

    def relation(self, number: int, *, endpoint: str = "", application: str = "") -> Relation:
        """Return a relation; an inactive one if the unit has none of that number."""
        if (found := self._relations.get(number)) is not None:
            return found
        given = RelationGiven(number=number, endpoint=endpoint, application=application, is_peer=False)
        return self._relation(given, is_active=False)

    def storage(self, wanted: str) -> Instance:
        """Return a storage by its name; one without a folder if the unit no longer has it."""
        return Instance(wanted, self.attempt.storages.get(wanted))

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        """Read a bag, from the server only once in an attempt."""
        if (relation, owner) not in self._bags:
            self._bags[relation, owner] = await self.surroundings.read_bag(relation, owner)
        return self._bags[relation, owner]

    def open_port(self, number: int, protocol: str) -> None:
        """Add a port to the open ports of the unit."""
        self._ports.add(_port(number, protocol))

    def close_port(self, number: int, protocol: str) -> None:
        """Remove a port from the open ports of the unit."""
        self._ports.discard(_port(number, protocol))

    def effects(self, *, deferred: tuple[Notice, ...], consumed: tuple[Notice, ...]) -> Effects:
        """Return all effects, with the new and the consumed notices."""
        bags = [
            BagEdit(relation=number, owner=owner, edits=edits)
            for number, relation in sorted(self._relations.items())
            for owner, bag in ((Owner.UNIT, relation.unit), (Owner.APPLICATION, relation.application))
            if (edits := bag.edits())
        ]
        needs_term = self.secrets.needs_term or any(each.owner is Owner.APPLICATION for each in bags)
        return Effects(
            term=self.attempt.term if needs_term else 0,
            bags=tuple(bags),
            state=self.state.edits(),
            opened=_ordered(self._ports - self.attempt.ports),
            closed=_ordered(self.attempt.ports - self._ports),
            storages=tuple(
                StorageRequest(storage=each, count=self.wanted_storages[each]) for each in self.wanted_storages
            ),
            deferred=deferred,
            consumed=consumed,
            secrets=self.secrets.effects,
        )

    def _relation(self, given: RelationGiven, *, is_active: bool = True) -> Relation:
        event = self.attempt.event
        is_broken = event.kind is EventKind.RELATION_BROKEN and event.relation == given.number
        is_written = is_active and not is_broken

        def must_be_active() -> None:
            if not is_written:
                raise errors.RelationGone(f"relation {given.endpoint}:{given.number} is gone; look at is_active first")

        def must_lead() -> None:
            must_be_active()
            if not self.surroundings.is_leader:
                raise errors.NotLeader(
                    f"{self.attempt.unit} does not lead {self.application}, so it cannot write the application's bag; "
                    "look at is_leader first"
                )

        def must_lead_or_be_peer() -> None:
            if not given.is_peer and not self.surroundings.is_leader:
                raise errors.NotLeader(
                    f"{self.attempt.unit} does not lead {self.application}, so it cannot read the application's bag; "
                    "look at is_leader first"
                )

        return Relation(
            given.number,
            endpoint=given.endpoint,
            remote_application=given.application,
            units=given.units,
            is_active=is_written,
            unit=Bag(given.own, may_write=must_be_active),
            application=Bag(given.own_application, may_read=must_lead_or_be_peer, may_write=must_lead),
            read=self.read_bag,
        )


def _port(number: int, protocol: str) -> Port:
    if protocol not in ("tcp", "udp", "icmp"):
        raise ValueError(f"{protocol!r} is no protocol of ports; give tcp, udp or icmp")
    if not (number == 0 if protocol == "icmp" else 1 <= number <= 65535):
        raise ValueError(f"{number} is no port of {protocol}; give 1 to 65535, and 0 for icmp")
    return Port(protocol=protocol, number=number)


def _ordered(ports: Collection[Port]) -> tuple[Port, ...]:
    return tuple(sorted(ports, key=lambda port: (port.protocol, port.number)))
