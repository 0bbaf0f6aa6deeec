"""What charms are given in tests that have neither a server nor a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tinkwell.charm import Status, errors
from tinkwell.charm.attempt.given import SecretRead


@dataclass
class Bags:
    """Surroundings of an attempt: others' bags, and what was said at once."""

    data: dict[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)
    is_leader: bool = False
    statuses: list[Status] = field(default_factory=list)
    application_statuses: list[Status] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    reads: list[tuple[int, str]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def read_bag(self, relation: int, owner: str) -> Mapping[str, str]:
        self.reads.append((relation, owner))
        return self.data.get((relation, owner), {})

    async def read_secret(self, secret: str, revision: int) -> SecretRead:
        raise errors.SecretMissing(f"there is no secret {secret}")

    def log_task(self, text: str) -> None:
        self.told.append(text)

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def set_status(self, status: Status) -> None:
        self.statuses.append(status)

    def set_application_status(self, status: Status) -> None:
        self.application_statuses.append(status)

    def set_workload_version(self, version: str) -> None:
        self.versions.append(version)
