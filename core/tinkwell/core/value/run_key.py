"""Who a run is: of which kind, whose, which part of that, and which attempt at it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class RunKind(StrEnum):
    """What a run is a part of."""

    WORKFLOW = "workflow"
    RELEASE = "release"


# What owner and run are called, in labels and in lines of the log.
WORDS: Mapping[RunKind, tuple[str, str]] = {
    RunKind.WORKFLOW: ("workflow", "action"),
    RunKind.RELEASE: ("release", "step"),
}


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """The identity of one run: an attempt at an action of a workflow or at a step of a release, or a hook after it.

    `owner` is the id of the workflow or release, `run` that of the action or step; the latter is enough to tell it from
    all others. At most one run in the world ever carries a key. `hook` is the name of what follows on the attempt,
    empty for the attempt itself.
    """

    kind: RunKind
    owner: str
    run: str
    attempt: int
    hook: str = ""

    @property
    def main(self) -> "RunKey":
        """The attempt that a hook follows on; an attempt's own key is returned as it is."""
        return replace(self, hook="") if self.hook else self
