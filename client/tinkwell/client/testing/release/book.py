"""Data of releases that events do not have: documents, revisions, resources, and the leases that hold operations."""

import dataclasses
import json
from typing import Any

from tinkwell.client.release.model import Release, Resource, Revision, StepLogLine
from tinkwell.client.testing.release.secret import Secrets
from tinkwell.core.release.kinds import ReleaseState, RevisionState
from tinkwell.core.release.transition.row import RevisionRow


@dataclasses.dataclass(slots=True, kw_only=True)
class Facts:
    """Further data of an operation: its request, its documents as JSON texts, and the lease that holds it."""

    request: bytes = b""
    description: str = ""
    source: str = ""
    plan: str = ""
    result: str = ""
    former_state: ReleaseState = ReleaseState.FAILED
    rollback_of: int = 0
    lease_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredRevision:
    """A revision without its documents, and the documents as JSON texts."""

    revision: Revision
    source: str
    manifest: str
    late: str
    plan: str

    def whole(self) -> Revision:
        """Return the revision with its documents."""
        documents: dict[str, Any] = {name: json.loads(getattr(self, name)) for name in ("source", "manifest", "plan")}
        return dataclasses.replace(self.revision, **documents)


class ReleaseBook:
    """The data of all operations and releases, by their ids."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.deleted: dict[str, Release] = {}
        self.revisions: dict[str, dict[int, StoredRevision]] = {}
        self.resources: dict[str, dict[str, Resource]] = {}
        self.archives: dict[str, bytes] = {}  # archives of charts, by their digests
        self.lines: dict[str, list[StepLogLine]] = {}
        self.drifts: dict[str, str] = {}
        self.secrets = Secrets()

    def facts_of(self, operation_id: str) -> Facts:
        """Return the data of an operation; it is empty if a test has put the operation."""
        return self.facts.setdefault(operation_id, Facts())

    def stored(self, release_id: str, number: int) -> StoredRevision | None:
        """Return a revision; None if it does not exist."""
        return self.revisions.get(release_id, {}).get(number)

    def revision_row(self, release_id: str, number: int) -> RevisionRow | None:
        """Return a revision in the form that the core's rules take."""
        found = self.stored(release_id, number)
        return RevisionRow(revision=number, state=found.revision.state) if found is not None else None

    def former(self, release: Release) -> RevisionRow | None:
        """Return the newest revision, before the latest one, that was ever deployed."""
        known = self.revisions.get(release.id, {})
        were = (RevisionState.DEPLOYED, RevisionState.SUPERSEDED)
        numbers = [n for n, found in known.items() if n < release.latest_revision and found.revision.state in were]
        return self.revision_row(release.id, max(numbers)) if numbers else None


def chart_of(source: str) -> dict[str, Any]:
    """Return the fields of a release about the chart that a source names; empty if it names none."""
    chart = json.loads(source or "{}").get("chart", {})
    return {"chart_name": chart.get("name", ""), "chart_version": chart.get("version", "")}
