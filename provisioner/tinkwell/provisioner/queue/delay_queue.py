"""Puts workflows into the queue of the driver, at once or after a delay."""

import asyncio
from collections.abc import Mapping

from tinkwell.provisioner.queue import work_queue

MAX_WAITING = 10_000


class Later:
    """Puts workflows into the queue after a delay. A workflow that waits already is not added again."""

    def __init__(self, marked: work_queue.DirtySet, group: asyncio.TaskGroup) -> None:
        self._dirty = marked
        self._group = group
        self._waiting: set[str] = set()

    def look(self, workflow_id: str, seconds: float) -> None:
        """Queue a workflow after a delay. With MAX_WAITING waiting it is left out, and the next list finds it."""
        if workflow_id not in self._waiting and len(self._waiting) < MAX_WAITING:
            self._waiting.add(workflow_id)
            self._group.create_task(self._sleep(workflow_id, seconds), name=f"look later {workflow_id}")

    async def put(self, workflow_id: str) -> None:
        """Queue a workflow now; waits for room in the queue."""
        await self._dirty.put(workflow_id)

    def wake(self, workflow_ids: Mapping[str, float]) -> None:
        """Queue workflows, each after its seconds. Never waits: its caller may be the one that empties the queue."""
        for workflow_id, seconds in workflow_ids.items():
            if seconds:
                self.look(workflow_id, seconds)
            else:
                self._group.create_task(self._dirty.put(workflow_id), name=f"wake {workflow_id}")

    async def _sleep(self, workflow_id: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._waiting.remove(workflow_id)
        await self._dirty.put(workflow_id)
