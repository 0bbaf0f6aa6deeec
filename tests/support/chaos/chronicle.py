"""Which logs there have been, one after the other, and what was in each of them."""

import asyncio
import dataclasses
import time
from collections.abc import Iterable, Sequence

from support.history.record import Era, Row


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """How one log takes the place of another: what the former one held at its end, and what is known of the new one.

    Moments are in seconds since the epoch; see `Era`.
    """

    rows: Sequence[Row]
    oldest: int
    history_id: str
    oldest_now: int
    begun_at: float
    holds_until: float
    is_piecemeal: bool = False


class Chronicle:
    """The former logs and the present one. Whoever forgets events, or puts another log in place, holds `lock`."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        # By their revisions, those of the present log that are no longer kept.
        self.forgotten: dict[int, Row] = {}
        self.present = Era("", [])
        self._former: list[Era] = []
        # An event is one object, in however many logs it is.
        self._known: dict[tuple[int, int], Row] = {}

    @property
    def eras(self) -> int:
        """How many logs there have been, with the present one."""
        return len(self._former) + 1

    def share(self, rows: Iterable[Row]) -> list[Row]:
        """Return the same rows as the objects by which they are known."""
        return [self._known.setdefault((row.revision, row.digest), row) for row in rows]

    def forget(self, rows: Sequence[Row]) -> None:
        """Note events that are about to be forgotten."""
        self.forgotten.update((row.revision, row) for row in self.share(rows))

    def turn(self, turn: Turn) -> None:
        """Note that another log has taken the place of the present one."""
        self._former.append(self._ended(turn.rows, turn.oldest))
        self.forgotten = {revision: row for revision, row in self.forgotten.items() if revision < turn.oldest_now}
        self.present = Era(
            turn.history_id,
            [],
            begun_at=turn.begun_at,
            whole_at=time.time(),
            holds_until=turn.holds_until,
            is_piecemeal=turn.is_piecemeal,
        )

    def end(self, rows: Sequence[Row], oldest: int) -> list[Era]:
        """Return all logs, given what the present one holds in the end."""
        return [*self._former, self._ended(rows, oldest)]

    def _ended(self, rows: Sequence[Row], oldest: int) -> Era:
        all_rows = self.forgotten | {row.revision: row for row in self.share(rows)}
        return dataclasses.replace(self.present, rows=[all_rows[key] for key in sorted(all_rows)], oldest=oldest)
