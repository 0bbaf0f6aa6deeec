"""What the fake server keeps of releases beside what events tell: documents, revisions, resources, whose work it is."""

import dataclasses
import json
from typing import Any

from tinkwell.client.release.model import Release, Resource, Revision, StepLogLine
from tinkwell.client.testing.release.secret import Secrets
from tinkwell.core.release.kinds import ReleaseState, RevisionState
from tinkwell.core.release.transition.row import RevisionRow


@dataclasses.dataclass(slots=True, kw_only=True)
class Facts:
    """What is known of an operation beside itself: its request, its documents as JSON texts, and whose it is."""

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
    """A revision without its documents, and those as JSON texts."""

    revision: Revision
    source: str
    manifest: str
    late: str
    plan: str

    def whole(self) -> Revision:
        """Give the revision with its documents."""
        documents: dict[str, Any] = {name: json.loads(getattr(self, name)) for name in ("source", "manifest", "plan")}
        return dataclasses.replace(self.revision, **documents)


class ReleaseBook:
    """All of it, by the ids of operations and releases."""

    def __init__(self) -> None:
        self.facts: dict[str, Facts] = {}
        self.deleted: dict[str, Release] = {}
        self.revisions: dict[str, dict[int, StoredRevision]] = {}
        self.resources: dict[str, dict[str, Resource]] = {}
        self.archives: dict[str, bytes] = {}  # of charts, by their digests
        self.lines: dict[str, list[StepLogLine]] = {}
        self.drifts: dict[str, str] = {}
        self.secrets = Secrets()

    def facts_of(self, operation_id: str) -> Facts:
        """Get what is known of an operation; one that a test has put has nothing."""
        return self.facts.setdefault(operation_id, Facts())

    def stored(self, release_id: str, number: int) -> StoredRevision | None:
        """Get a revision; None where there is none."""
        return self.revisions.get(release_id, {}).get(number)

    def revision_row(self, release_id: str, number: int) -> RevisionRow | None:
        """Get a revision as the rules need it."""
        found = self.stored(release_id, number)
        return RevisionRow(revision=number, state=found.revision.state) if found is not None else None

    def former(self, release: Release) -> RevisionRow | None:
        """Get the newest revision below the latest one that was ever deployed."""
        known = self.revisions.get(release.id, {})
        were = (RevisionState.DEPLOYED, RevisionState.SUPERSEDED)
        numbers = [n for n, found in known.items() if n < release.latest_revision and found.revision.state in were]
        return self.revision_row(release.id, max(numbers)) if numbers else None


def chart_of(source: str) -> dict[str, Any]:
    """Give what a release shows of the chart that a source names; empty where it names none."""
    chart = json.loads(source or "{}").get("chart", {})
    return {"chart_name": chart.get("name", ""), "chart_version": chart.get("version", "")}
