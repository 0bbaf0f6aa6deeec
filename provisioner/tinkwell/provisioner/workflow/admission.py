"""Which workflow may start, and which is to be looked at because of that: turns, kept true to what looks find out."""

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.queue import recent_set
from tinkwell.provisioner.workflow import machine_queue, snapshot

MAX_WAITING = 10_000
# So many workflows are remembered as being over, while others wait for their machines; a forgotten one costs a look.
MAX_OVER = 10_000
# One that is over, and for which another one waits all the same, holds its machines until its owner has cleared up. No
# event tells when that is, so it is looked at again after so long.
RELEASE_SECONDS = 1.0


class Admission:
    """Lets workflows take their turns. Methods return what is to be looked at, each in so many seconds."""

    def __init__(self) -> None:
        self._turns = machine_queue.Turns(MAX_WAITING)
        self._over = recent_set.RecentSet(MAX_OVER)

    def holders(self) -> list[str]:
        """Return the workflows that hold machines."""
        return self._turns.holders()

    def is_holder(self, workflow_id: str) -> bool:
        """Return whether a workflow holds a machine."""
        return self._turns.is_holder(workflow_id)

    def is_waiting(self, workflow_id: str) -> bool:
        """Return whether a workflow waits for the end of another one; whoever may have ended is to be looked at."""
        return self._turns.is_waiting(workflow_id)

    def admit(self, seen: snapshot.Seen, commands: list[decide.Command]) -> tuple[bool, dict[str, float]]:
        """Take note of what was seen; False for a workflow that would start and must wait for another."""
        last = commands[-1] if commands else None
        has_turn, woken = True, list[str]()
        match seen.view.state, last:
            case State.PENDING, decide.StartAction():
                machines = {action.worker_id for action in seen.view.actions}
                has_turn, woken = self._turns.begin(seen.waiter, machines)
            case State.PENDING, decide.Wait(reason=decide.WaitReason.MACHINE_BUSY):
                woken = self._turns.wait(seen.waiter, machine=seen.machine, holder=seen.held_by)
            case (State.RUNNING, _) | (State.PENDING, decide.Wait(reason=decide.WaitReason.RUNNING_HERE)):
                pass
            case _:
                woken = self._turns.end(seen.view.id)
        if seen.view.state.is_final:
            self._over.add(seen.view.id)
        return has_turn, self._in_time(woken)

    def refuse(self, workflow_id: str) -> dict[str, float]:
        """Take note that the server did not let a workflow start."""
        return self._in_time(self._turns.end(workflow_id))

    def release(self, workflow_id: str) -> None:
        """Take note that a workflow that is over holds nothing here any more."""
        self._over.discard(workflow_id)

    def _in_time(self, workflow_ids: list[str]) -> dict[str, float]:
        return {id_: RELEASE_SECONDS if id_ in self._over else 0.0 for id_ in workflow_ids}
