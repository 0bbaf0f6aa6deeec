"""What time it is by the server, whose clock may differ from this machine's.

Nobody tells it outright. But every moment that comes from the server has passed there when it arrives here, so that its
clock shows at least that; and a running action's deadline less what remains of it is the very moment of the answer. The
latest of all that was seen is kept, and counted on by a monotonic clock.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinkwell.client import Action, Workflow


class ServerClock:
    """Tells the server's time; this machine's own as long as nothing is known of the server's."""

    def __init__(
        self, *, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._monotonic = monotonic
        self._guess = wall() - monotonic()
        self._offset: float | None = None

    def is_at_least(self, moment: datetime | None) -> None:
        """Learn that the server's clock shows this moment now, or a later one."""
        if moment is not None:
            offset = moment.timestamp() - self._monotonic()
            self._offset = offset if self._offset is None else max(self._offset, offset)

    def now(self) -> datetime:
        """Give the server's time."""
        offset = self._guess if self._offset is None else self._offset
        return datetime.fromtimestamp(self._monotonic() + offset, UTC)


def moment_of_answer(workflow: "Workflow", actions: "Iterable[Action]") -> datetime | None:
    """Give the server's time when it listed these actions, where one of them runs and has a deadline.

    A running action's deadline is the end of its own limit or of the workflow's, whichever comes first.
    """
    for action in actions:
        if action.remaining_seconds is None:
            continue
        ends = [
            started_at + timedelta(seconds=limit)
            for started_at, limit in (
                (action.started_at, action.timeout_seconds),
                (workflow.started_at, workflow.global_timeout_seconds),
            )
            if started_at is not None and limit > 0
        ]
        if ends:
            return min(ends) - timedelta(seconds=action.remaining_seconds)
    return None
