"""The identity of a run: its kind, its owner, the action or step, and the attempt."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class RunKind(StrEnum):
    WORKFLOW = "workflow"
    RELEASE = "release"


# The names of owner and run, in labels and in log lines.
WORDS: Mapping[RunKind, tuple[str, str]] = {
    RunKind.WORKFLOW: ("workflow", "action"),
    RunKind.RELEASE: ("release", "step"),
}


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """The identity of one run: an attempt at an action of a workflow or at a step of a release, or its hook.

    `owner` is the id of the workflow or release, `run` the id of the action or step, which is unique by itself. At most
    one run ever has a key. `hook` is the name of the hook that follows the attempt, "" for the attempt itself.
    """

    kind: RunKind
    owner: str
    run: str
    attempt: int
    hook: str = ""

    @property
    def main(self) -> "RunKey":
        """The key of the attempt that a hook follows; an attempt's own key is returned as it is."""
        return replace(self, hook="") if self.hook else self
