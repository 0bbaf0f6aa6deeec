"""The transactions that hold the event log back, as messages name them."""

import dataclasses
from collections.abc import Sequence

_MOST = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Holder:
    """An open transaction and its session. Fields that PostgreSQL does not show, or not to this role, are None or "".

    `prepared` is the name of a prepared transaction, which belongs to no session; every other transaction has a `pid`.
    """

    pid: int | None = None
    application: str = ""
    role: str = ""
    open_seconds: float | None = None
    state: str = ""
    waits_for: str = ""
    prepared: str = ""

    def __str__(self) -> str:
        who = f'prepared transaction "{self.prepared}"' if self.pid is None else f"pid {self.pid}"
        named = [f'{word} "{name}"' for word, name in (("application", self.application), ("role", self.role)) if name]
        since = [] if self.open_seconds is None else [f"open for {self.open_seconds:.0f} s"]
        return f"{who} ({', '.join([*named, *since, *self._doing()])})"

    def _doing(self) -> list[str]:
        if self.pid is None:
            return ["waits for COMMIT PREPARED or ROLLBACK PREPARED"]
        if not self.state:
            return ["what it does is hidden from this role, which lacks pg_read_all_stats"]
        # An idle session always waits for its client, which is no news.
        is_active = self.state == "active" and self.waits_for
        return [f"active, waits for {self.waits_for}" if is_active else self.state]


def names(holders: Sequence[Holder]) -> list[str]:
    """Return the names of the first few, and the number of the others."""
    rest = len(holders) - _MOST
    return [*map(str, holders[:_MOST]), *([f"{rest} more"] if rest > 0 else [])]


def sentence(holders: Sequence[Holder]) -> str:
    """Return a sentence that begins with what is waited for, and names the transactions."""
    return "; ".join(names(holders)) or "transactions that have ended by now"
