"""What the agent is given to carry out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from tinkwell.core.value.run_key import WORDS, RunKey
from tinkwell.provisioner.runtime import port


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A run, and what is known of how it is to end. `started_at` is when an attempt that is adopted began.

    Work that `reboots` has succeeded when its machine has rebooted. A timeout of 0 means that it has none of its own.
    What a run needs beside itself is there once `prepare` has returned, which raises `RunError` where it cannot be.
    """

    run: port.RunSpec
    timeout_seconds: int = 0
    started_at: datetime | None = None
    reboots: bool = False
    prepare: Callable[[], Awaitable[None]] | None = None

    @property
    def key(self) -> RunKey:
        """The identity of the run."""
        return self.run.key


def fields(key: RunKey) -> dict[str, object]:
    """Return how a line of the log names a run."""
    owner, run = WORDS[key.kind]
    own: dict[str, object] = {owner: key.owner, run: key.run, "attempt": key.attempt}
    return own | {"hook": key.hook} if key.hook else own
