"""Chooses the workflows to look at when all unfinished workflows are listed.

Theory of operation. Events and timers lead to every look that is needed. Lists are for the case that one of them has
failed, so they must stay cheap with thousands of unfinished workflows. A running workflow is known to be well in two
cases, and in both the provisioner would hear of a change:

* an action of it is watched here, and no other run of it is here;
* another living provisioner runs an action of it. If that one dies, the server tells every provisioner that renews its
  lease.

A list leads to a look at a few of the workflows that are well, in the order of their ids, so that in the end each is
looked at. All other listed workflows are looked at. So are workflows that were well and are not listed: they have ended
without an event. If events may have been missed, no workflow counts as well.
"""

import bisect
from collections.abc import Iterable

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.queue import recent_set
from tinkwell.provisioner.workflow import run_registry

# At most this many workflows that are well are looked at because of one list.
MAX_SURE = 100
# At most this many workflows are remembered as run by another provisioner. Forgetting one costs one look.
MAX_ELSEWHERE = 10_000


class Survey:
    """Chooses the workflows to look at for each list; between lists it records the results of looks."""

    def __init__(self, here: run_registry.Roster) -> None:
        self._here = here
        # The workflows of which another living provisioner runs an action, as far as looks have found.
        self._elsewhere = recent_set.RecentSet(MAX_ELSEWHERE)
        self._trusts = False
        # The workflows of the current list that are well, as far as the list has come.
        self._well: set[str] = set()
        # The last workflow that was looked at although it was well.
        self._last = ""

    def forget(self, workflow_id: str) -> None:
        """Forget the result of the last look, because a new one begins."""
        self._elsewhere.discard(workflow_id)

    def note(self, workflow_id: str, commands: Iterable[decide.Command]) -> None:
        """Record the result of a look.

        An action that reboots its machine does not count as well: nobody is told if its provisioner dies.
        """
        match list(commands):
            case [decide.Wait(action=action, reason=decide.WaitReason.HELD_ELSEWHERE)]:
                if action.state is State.RUNNING and not action.reboots:
                    self._elsewhere.add(workflow_id)

    def begin(self, *, trusts: bool) -> None:
        """Begin a list. `trusts` is False if events may have been missed, so that no workflow counts as well."""
        self._trusts = trusts
        self._well.clear()

    def is_well(self, workflow_id: str) -> bool:
        """Return whether a running workflow is known to be well."""
        is_seen_to = bool(self._here.running(workflow_id)) or workflow_id in self._elsewhere
        return self._trusts and is_seen_to and not self._here.leftover(workflow_id)

    def find(self, workflow_id: str) -> bool:
        """Record a workflow that is listed as running; return whether it is well."""
        is_well = self.is_well(workflow_id)
        if is_well:
            self._well.add(workflow_id)
        return is_well

    def end(self, expected: Iterable[str]) -> list[str]:
        """End a list: return the `expected` workflows that were not found well, and some of those that were."""
        return [*(set(expected) - self._well), *self._next()]

    def _next(self) -> list[str]:
        """Return the next workflows that are well, in the order of ids."""
        ordered = sorted(self._well)
        place = bisect.bisect_right(ordered, self._last)
        following = [*ordered[place:], *ordered[:place]][:MAX_SURE]
        self._last = following[-1] if following else ""
        return following
