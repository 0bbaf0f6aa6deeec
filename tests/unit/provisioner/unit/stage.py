"""What attempts ask and tell, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.provisioner.unit.attempt import Attempt, Given, Occasion, Refused, Relation, Status

UNIT = "web/0"


@dataclass
class FakeWorld:
    """Answers what it was given, and remembers what it was told."""

    bags: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    reads: list[tuple[int, str]] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    leads: bool = False

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        self.reads.append((relation, owner))
        if (relation, owner) not in self.bags:
            raise Refused(f"permission denied: {UNIT} cannot read the bag of {owner}")
        return self.bags[relation, owner]

    async def is_leader(self) -> bool:
        return self.leads

    async def set_status(self, status: Status) -> None:
        self.statuses.append(status)

    async def log(self, level: str, message: str) -> None:
        self.lines.append((level, message))


def given(
    name: str = "db-relation-changed",
    *,
    relation: int = 7,
    application: str = "pg",
    unit: str = "pg/1",
    storage: str = "",
) -> Given:
    """What `web/0` has in a relation with pg, and in its own peers'."""
    return Given(
        unit=UNIT,
        namespace="shop",
        occasion=Occasion(name=name, relation=relation, application=application, unit=unit, storage=storage),
        config={"workers": 2, "name": "no", "debug": True, "unset": None},
        relations={
            7: Relation(number=7, endpoint="db", application="pg", members=("pg/0", "pg/1"), unit_bag={"ready": "no"}),
            10: Relation(number=10, endpoint="db", application="other"),
            3: Relation(
                number=3,
                endpoint="peers",
                application="web",
                is_peer=True,
                members=("web/1",),
                application_bag={"seed": "12"},
            ),
        },
        storages={"data/0": "/srv/data"},
        state={"step": "one"},
        status=Status(name="waiting", message="for a database"),
    )


def attempt(what: Given | None = None, world: FakeWorld | None = None) -> Attempt:
    """Make an attempt."""
    return Attempt(what or given(), world or FakeWorld())
