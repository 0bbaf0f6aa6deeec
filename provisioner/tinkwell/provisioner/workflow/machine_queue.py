"""The queue of each machine: workflows that wait because another workflow runs on that machine, oldest first.

Theory of operation. The server lets a machine run one workflow at a time and refuses the others; the server alone
decides. These queues tell when a refused workflow is looked at again, and in which order.

    it must wait ──▶ behind the holder ──▶ the holder ends: the oldest becomes holder ──▶ it is looked at
         ▲                                                                                    │       │
         └───────────── another machine of it is busy, so it lets this one go ◀───────────────┘       ▼
                                                                                                  it starts

The holder of a machine is the workflow that runs on it, or that is about to start there. A workflow always waits behind
a holder. The driver looks at each holder from time to time, so an end is noticed even if its event is lost. A holder
that has not started gives way to an older workflow, so the oldest of several that share machines always gets on.
"""

import bisect
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, order=True)
class Waiter:
    """A workflow that would start; the older one goes first."""

    created_at: datetime
    id: str


@dataclass(slots=True)
class _Machine:
    holder: str = ""
    waiting: list[Waiter] = field(default_factory=list)


class Turns:
    """The machines that are held, and the workflows that wait for them.

    Each workflow waits for one machine at a time. At most `limit` waiting workflows are remembered; a later list finds
    the others. Methods that change the queues return the ids of the workflows to look at now.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._machines: dict[str, _Machine] = {}
        self._held: dict[str, set[str]] = {}
        # Holders that have not started yet, since their turn has only just come.
        self._called: dict[str, Waiter] = {}
        # Waiting workflow → the machine that it waits for, and its entry there.
        self._places: dict[str, tuple[str, Waiter]] = {}

    def holders(self) -> list[str]:
        """Return the ids of the workflows that hold machines."""
        return list(self._held)

    def is_holder(self, workflow_id: str) -> bool:
        """Return whether a workflow holds a machine."""
        return workflow_id in self._held

    def is_waiting(self, workflow_id: str) -> bool:
        """Return whether a workflow waits behind the holder of a machine."""
        return workflow_id in self._places

    def begin(self, waiter: Waiter, machines: Iterable[str]) -> tuple[bool, list[str]]:
        """Let a workflow hold all its machines; False if it must wait for one of them instead."""
        needed = sorted(machines)
        busy = next((name for name in needed if self._is_busy(name, waiter)), None)
        if busy is not None:
            return False, self.wait(waiter, machine=busy, holder=self._holder(busy))
        self._leave(waiter.id)
        self._called.pop(waiter.id, None)
        for name in needed:
            self._hold(name, waiter.id)
        return True, []

    def wait(self, waiter: Waiter, *, machine: str, holder: str) -> list[str]:
        """Let a workflow give up its machines and wait for `machine` until `holder` has ended."""
        woken = self.end(waiter.id)
        # A holder that was not known here may have ended already, unheard: the driver must look at it.
        is_news = holder not in self._held
        self._hold(machine, holder)
        if len(self._places) < self._limit:
            bisect.insort(self._machines[machine].waiting, waiter)
            self._places[waiter.id] = (machine, waiter)
        return [*woken, holder] if is_news else woken

    def end(self, workflow_id: str) -> list[str]:
        """Remove a workflow from all queues; the oldest workflow that waits for each of its machines is next there."""
        self._leave(workflow_id)
        self._called.pop(workflow_id, None)
        woken = []
        for name in self._held.pop(workflow_id, ()):
            machine = self._machines[name]
            machine.holder = ""
            if machine.waiting:
                following = machine.waiting[0]
                self._leave(following.id)
                self._hold(name, following.id)
                self._called[following.id] = following
                woken.append(following.id)
            else:
                del self._machines[name]
        return woken

    def _is_busy(self, name: str, waiter: Waiter) -> bool:
        holder = self._holder(name)
        if holder in ("", waiter.id):
            return False
        called = self._called.get(holder)
        return called is None or called < waiter

    def _holder(self, name: str) -> str:
        machine = self._machines.get(name)
        return machine.holder if machine is not None else ""

    def _hold(self, name: str, workflow_id: str) -> None:
        machine = self._machines.setdefault(name, _Machine())
        if machine.holder and machine.holder != workflow_id:
            others = self._held[machine.holder]
            others.remove(name)
            if not others:
                del self._held[machine.holder]
                self._called.pop(machine.holder, None)
        machine.holder = workflow_id
        self._held.setdefault(workflow_id, set()).add(name)

    def _leave(self, workflow_id: str) -> None:
        if (place := self._places.pop(workflow_id, None)) is not None:
            name, waiter = place
            waiting = self._machines[name].waiting
            del waiting[bisect.bisect_left(waiting, waiter)]
