"""What attempts ask and tell, in memory."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkwell.core.unit.effect import Port
from tinkwell.provisioner.unit.attempt.attempt import Attempt
from tinkwell.provisioner.unit.attempt.given import Given, Grant, Occasion, Relation, Secret, Status, Task
from tinkwell.provisioner.unit.attempt.world import Content, Declared, Refused

UNIT = "web/0"
MODEL = "5b0d8a0e-8f0c-4b60-9f0b-6a4c2f0d9f12"
# A secret of the unit's own, one that it reads, and one that it was only told of.
OWN, READ, NEW = "o" * 20, "r" * 20, "n" * 20
EXPIRES_AT = datetime.datetime(2030, 1, 31, 12, tzinfo=datetime.UTC)


@dataclass
class FakeWorld:
    """Answers what it was given, and remembers what it was told."""

    bags: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    reads: list[tuple[int, str]] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    leads: bool = False
    secrets: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    application_statuses: list[Status] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        self.reads.append((relation, owner))
        if (relation, owner) not in self.bags:
            raise Refused(f"permission denied: {UNIT} cannot read the bag of {owner}")
        return self.bags[relation, owner]

    async def is_leader(self) -> bool:
        return self.leads

    async def set_status(self, status: Status) -> None:
        self.statuses.append(status)

    async def read_secret(self, secret: str, revision: int) -> Content:
        if secret not in self.secrets:
            raise Refused(f'secret "{secret}" not found')
        revisions = self.secrets[secret]
        return Content(revision=revision or len(revisions), values=revisions[(revision or len(revisions)) - 1])

    async def set_application_status(self, status: Status) -> None:
        self.application_statuses.append(status)

    async def set_version(self, version: str) -> None:
        self.versions.append(version)

    async def tell(self, message: str) -> None:
        self.told.append(message)

    async def declared(self) -> Declared:
        return Declared(bindings=frozenset({"db", "peers"}), storages=frozenset({"data"}))

    async def log(self, level: str, message: str) -> None:
        self.lines.append((level, message))


def given(
    name: str = "db-relation-changed",
    *,
    relation: int = 7,
    application: str = "pg",
    unit: str = "pg/1",
    storage: str = "",
    task: Task | None = None,
) -> Given:
    """What `web/0` has in a relation with pg, and in its own peers'."""
    return Given(
        unit=UNIT,
        namespace="shop",
        occasion=Occasion(task=task)
        if task
        else Occasion(
            name=name,
            kind=name.removeprefix("db-"),
            relation=relation,
            endpoint="db" if relation else "",
            application=application,
            unit=unit,
            storage=storage,
        ),
        model=MODEL,
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
        application_status=Status(name="active", message="serves"),
        ports=frozenset({Port(protocol="tcp", number=80), Port(protocol="icmp")}),
        secrets={
            OWN: Secret(
                id=OWN,
                owner=UNIT,
                is_owned=True,
                label="own",
                description="of web/0",
                latest=2,
                rotation="DAILY",
                expires_at=EXPIRES_AT,
                revisions=(1, 2),
                grants=(Grant(relation=7, application="pg"),),
            ),
            READ: Secret(id=READ, owner="pg", label="dsn", latest=3, tracked=2),
        },
        addresses=("10.0.0.7",),
    )


def attempt(what: Given | None = None, world: FakeWorld | None = None) -> Attempt:
    """Make an attempt."""
    return Attempt(what or given(), world or FakeWorld())
