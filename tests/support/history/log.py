"""The log as it is in the end, indexed for the questions that the rules ask."""

import bisect
from array import array
from collections.abc import Sequence

from support.history.record import Row, Selection


class Log:
    """What was committed, in revision order."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.revisions = array("q", (row.revision for row in rows))
        self._by_revision = {row.revision: row for row in rows}
        self._due: dict[Selection, array[int]] = {}
        self._latest = array("d")
        latest = 0.0
        for row in rows:
            latest = max(latest, row.created_at)
            self._latest.append(latest)

    @property
    def last(self) -> int:
        """The last revision; 0 for an empty log."""
        return self.revisions[-1] if self.revisions else 0

    def get(self, revision: int) -> Row | None:
        """Return the event of that revision, if there is one."""
        return self._by_revision.get(revision)

    def due(self, selection: Selection) -> "array[int]":
        """Return the revisions that a watcher with this selection must receive."""
        if selection not in self._due:
            self._due[selection] = array("q", (row.revision for row in self.rows if selection.matches(row)))
        return self._due[selection]

    def latest_before(self, revision: int) -> float:
        """Return when the youngest event below the revision was drawn; 0 when there is none."""
        count = bisect.bisect_left(self.revisions, revision)
        return self._latest[count - 1] if count else 0.0
