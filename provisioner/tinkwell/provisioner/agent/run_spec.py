"""The work that the agent is given."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from tinkwell.core.value.run_key import WORDS, RunKey
from tinkwell.provisioner.runtime import port


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A run and the rules for its end. `started_at` is the time at which an adopted attempt began.

    Work that `reboots` has succeeded when its machine has rebooted. A timeout of 0 means that the action has none.
    `prepare` is awaited before the run starts, for example to write its files; it raises `RunError` if that fails.
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
    """Return the fields that name a run in a line of the log."""
    owner, run = WORDS[key.kind]
    own: dict[str, object] = {owner: key.owner, run: key.run, "attempt": key.attempt}
    return own | {"hook": key.hook} if key.hook else own
