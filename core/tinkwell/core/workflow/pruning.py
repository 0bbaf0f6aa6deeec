"""Which workflows are past their time and may be forgotten: pure, from what a look at them shows.

A workflow ends when it is finished or deleted, whichever came first. It is past its time when that was long enough ago,
by the database's clock. It is kept all the same

* while it is unfinished: what is neither deleted nor in a final state,
* while somebody alive holds one of its machines, for something of it may still be there,
* while one that recovers it is kept: a chain of recoveries uses no template twice, and who is to recover the last one
  asks all of them for theirs.

So a chain is forgotten from its last workflow on. One that was put into a final state by hand, without a moment of its
end, is kept until it is deleted.
"""

import dataclasses
import datetime
from collections.abc import Collection, Iterable, Sequence

from tinkwell.core.event.kinds import State


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a look at a workflow shows.

    `rows` is how many it and its actions are, `recovers` the id of the one that it recovers, empty for none, and
    `recovered_by` has the ids of the workflows that are there to recover it, deleted ones among them.
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
        """Whether something may still become of it."""
        return self.deleted_at is None and not self.state.is_final

    @property
    def ended_at(self) -> datetime.datetime | None:
        """When it was finished or deleted; None where nobody has written it down."""
        return min((moment for moment in (self.finished_at, self.deleted_at) if moment is not None), default=None)


def forgettable(
    candidates: Iterable[Candidate], *, ended_before: datetime.datetime, gone: Iterable[str] = ()
) -> list[Candidate]:
    """Return those that may be forgotten, all of them together, once those of the ids `gone` are.

    They come with the last of each chain first, as they do by their ends from the latest one on.
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
    """Return as many of the first ones as have no more rows together, and one at least."""
    rows = 0
    for count, candidate in enumerate(candidates):
        rows += candidate.rows
        if count and rows > max_rows:
            return candidates[:count]
    return candidates
