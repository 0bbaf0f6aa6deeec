"""One event in the life of a unit: what it is about, and which versions its handler sees."""

from dataclasses import dataclass

from tinkwell.core.unit.kinds import EventKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The versions that an attempt sees, fixed when the attempt is granted; a commit writes them into the ledger.

    `charm` is the digest of the code that the attempt runs. `term` is the announced term for leader-settings-changed,
    and the newest term for other events. `bag` is the version of the bag that a relation event tells of: the bag of the
    remote unit, of the application if there is no unit, of the unit itself for an echo; 0 for other events.
    """

    config: int = 0
    charm: str = ""
    term: int = 0
    bag: int = 0


NOTHING_SEEN = Seen()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitEvent:
    """An event of a unit. The unit, the ordinal, the attempt and the state are stored by the caller.

    A relation event has the number, the endpoint and the remote application (the unit's own one in peer relations, for
    siblings and for echoes), and `unit` if it is about one unit. `departing_unit` is the unit that leaves, in
    relation-departed. `storage` is the name of an instance, such as `data/3`. `is_mirrored`: a sibling leaves that was
    there before this unit, which therefore was never told that it joined. `is_echo`: the unit is told of its own write.
    A secret event has the secret's id of 20 characters, and the `revision` that has expired or that no unit reads; for
    secret-changed `revision` is the newest one when the attempt was granted, and for secret-rotate 0.
    """

    kind: EventKind
    relation: int = 0
    endpoint: str = ""
    application: str = ""
    unit: str = ""
    departing_unit: str = ""
    storage: str = ""
    is_mirrored: bool = False
    is_echo: bool = False
    secret: str = ""
    revision: int = 0
    seen: Seen = NOTHING_SEEN

    @property
    def name(self) -> str:
        """The event's name as charms know it, such as `db-relation-joined`, `data-storage-attached` or `start`."""
        if self.storage:
            return f"{self.storage.rpartition('/')[0]}-{self.kind}"
        return f"{self.endpoint}-{self.kind}" if self.endpoint else self.kind.value

    def tells_same(self, other: "UnitEvent") -> bool:
        """Whether both are the same event; what their attempts see is not compared."""
        return (
            self.kind is other.kind
            and self.relation == other.relation
            and self.unit == other.unit
            and self.storage == other.storage
            and self.is_echo == other.is_echo
            and self.secret == other.secret
            and (self.revision == other.revision or not self.kind.is_of_revision)
        )
