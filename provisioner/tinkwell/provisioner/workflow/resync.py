"""What is looked at when all unfinished workflows are listed, though nothing was heard of it.

Theory of operation. Events and timers lead to every look that is needed. Lists are for the case that one of them has
failed, so they must not cost more than all the rest where thousands of workflows are unfinished. Of most of those that
run it is known that all is well, and how anybody would hear of the contrary:

* an action of it is watched here, and nothing of it is here besides;
* somebody else, who lives, runs an action of it. Where that one dies, the server tells whoever renews a lease.

Of these, a list leads to a look at a few, one after the other, so that each is looked at in the end. All the others are
looked at, and so is what should be listed and is not: it has ended unheard. Where events may have been missed, nothing
is known to be well.
"""

import bisect
from collections.abc import Iterable

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.queue import recent_set
from tinkwell.provisioner.workflow import run_registry

# So many workflows of which all is well are looked at because of one list.
MAX_SURE = 100
# So many are remembered as having an action that somebody else runs; a forgotten one costs a look.
MAX_ELSEWHERE = 10_000


class Survey:
    """Tells what a list leads to; between two lists it hears what looks have come to."""

    def __init__(self, here: run_registry.Roster) -> None:
        self._here = here
        self._elsewhere = recent_set.RecentSet(MAX_ELSEWHERE)
        self._trusts = False
        # Those of which all is well, as far as the list has come.
        self._well: set[str] = set()
        # The one that was looked at last of those.
        self._last = ""

    def forget(self, workflow_id: str) -> None:
        """Take note that a look begins, which may fail."""
        self._elsewhere.discard(workflow_id)

    def note(self, workflow_id: str, commands: Iterable[decide.Command]) -> None:
        """Take note of what a look has come to. Nobody is told of the death of who ran what reboots its machine."""
        match list(commands):
            case [decide.Wait(action=action, reason=decide.WaitReason.HELD_ELSEWHERE)]:
                if action.state is State.RUNNING and not action.reboots:
                    self._elsewhere.add(workflow_id)

    def begin(self, *, trusts: bool) -> None:
        """Begin a list; it trusts what is known to be well unless events may have been missed."""
        self._trusts = trusts
        self._well.clear()

    def is_well(self, workflow_id: str) -> bool:
        """Say whether a running workflow is known to be well."""
        is_seen_to = bool(self._here.running(workflow_id)) or workflow_id in self._elsewhere
        return self._trusts and is_seen_to and not self._here.leftover(workflow_id)

    def find(self, workflow_id: str) -> bool:
        """Take note of a workflow that is listed as running; True if it is well."""
        is_well = self.is_well(workflow_id)
        if is_well:
            self._well.add(workflow_id)
        return is_well

    def end(self, expected: Iterable[str]) -> list[str]:
        """End a list: return those who were expected to be well, but are not, and some of those who are."""
        return [*(set(expected) - self._well), *self._next()]

    def _next(self) -> list[str]:
        """Return those who follow in the order of ids on the last one."""
        ordered = sorted(self._well)
        place = bisect.bisect_right(ordered, self._last)
        following = [*ordered[place:], *ordered[:place]][:MAX_SURE]
        self._last = following[-1] if following else ""
        return following
