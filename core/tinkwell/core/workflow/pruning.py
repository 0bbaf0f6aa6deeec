"""Decides which workflows are old enough to be deleted for good: pure functions of what was read about them.

A workflow ends when it is finished or deleted, whichever came first. It may be deleted once its end is old enough, by
the database's clock. It is kept nevertheless

* while it is unfinished: neither deleted nor in a final state,
* while a living owner holds one of its machines, because a run of it may still be there,
* while a workflow that recovers it is kept: a chain of recoveries uses each template once, so the recovery of the last
  workflow reads the templates of all workflows in the chain.

So a chain is deleted from its last workflow on. A workflow that was put into a final state by hand, without the time
of its end, is kept until a user deletes it.
"""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Sequence

from tinkwell.core.event.kinds import State


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The facts about a workflow that decide whether it is kept.

    `rows` is the number of rows of the workflow and its actions. `recovers` is the id of the workflow that it recovers,
    "" for none. `recovered_by` has the ids of the stored workflows that recover it, deleted ones included.
    """

    id: str
    state: State
    finished_at: datetime.datetime | None
    deleted_at: datetime.datetime | None
    is_held: bool = False
    recovers: str = ""
    recovered_by: Collection[str] = ()
    rows: int = 1

    @property
    def is_unfinished(self) -> bool:
        """Whether the workflow may still change its state."""
        return self.deleted_at is None and not self.state.is_final

    @property
    def ended_at(self) -> datetime.datetime | None:
        """When it was finished or deleted, whichever came first; None if neither time is stored."""
        return min((moment for moment in (self.finished_at, self.deleted_at) if moment is not None), default=None)


def forgettable(
    candidates: Iterable[Candidate], *, ended_before: datetime.datetime, gone: Iterable[str] = ()
) -> list[Candidate]:
    """Return the candidates that may be deleted together, once the workflows with the ids `gone` are deleted.

    The candidates must be in the order of their ends, latest first, so that the last workflow of each chain comes
    first.
    """
    found: list[Candidate] = []
    gone = set(gone)
    for candidate in candidates:
        is_past = candidate.ended_at is not None and candidate.ended_at < ended_before
        is_needed = candidate.is_unfinished or candidate.is_held or not gone.issuperset(candidate.recovered_by)
        if is_past and not is_needed:
            found.append(candidate)
            gone.add(candidate.id)
    return found


def portion(candidates: Sequence[Candidate], *, max_rows: int) -> Sequence[Candidate]:
    """Return the first candidates that have at most `max_rows` rows together, but at least one candidate."""
    rows = 0
    for count, candidate in enumerate(candidates):
        rows += candidate.rows
        if count and rows > max_rows:
            return candidates[:count]
    return candidates
