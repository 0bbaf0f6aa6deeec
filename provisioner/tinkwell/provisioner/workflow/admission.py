"""Decides which workflow may start on its machines, and keeps the queues of the machines up to date with each look."""

from tinkwell.core.event.kinds import State
from tinkwell.core.workflow import decide
from tinkwell.provisioner.queue import recent_set
from tinkwell.provisioner.workflow import machine_queue, snapshot

MAX_WAITING = 10_000
# At most this many workflows are remembered as over. Forgetting one costs one look too early.
MAX_OVER = 10_000
# A workflow that is over still holds its machines until its owner has removed its runs. No event tells when that is
# done, so a workflow for which others wait is looked at again after this time.
RELEASE_SECONDS = 1.0


class Admission:
    """Lets workflows take turns on machines.

    Methods that return a dictionary name the workflows to look at, each with the seconds until that look.
    """

    def __init__(self) -> None:
        self._turns = machine_queue.Turns(MAX_WAITING)
        self._over = recent_set.RecentSet(MAX_OVER)

    def holders(self) -> list[str]:
        """Return the ids of the workflows that hold machines."""
        return self._turns.holders()

    def is_holder(self, workflow_id: str) -> bool:
        """Return whether a workflow holds a machine."""
        return self._turns.is_holder(workflow_id)

    def is_waiting(self, workflow_id: str) -> bool:
        """Return whether a workflow waits for another one to end."""
        return self._turns.is_waiting(workflow_id)

    def admit(self, seen: snapshot.Seen, commands: list[decide.Command]) -> tuple[bool, dict[str, float]]:
        """Record what a look has found. The bool is False if the workflow would start but must wait for another one."""
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
        """Record that the server did not let a workflow start."""
        return self._in_time(self._turns.end(workflow_id))

    def release(self, workflow_id: str) -> None:
        """Record that a workflow that is over holds no machine."""
        self._over.discard(workflow_id)

    def _in_time(self, workflow_ids: list[str]) -> dict[str, float]:
        return {id_: RELEASE_SECONDS if id_ in self._over else 0.0 for id_ in workflow_ids}
