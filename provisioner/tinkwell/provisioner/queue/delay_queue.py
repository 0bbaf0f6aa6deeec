"""Workflows that are looked at again, at once or when some time has passed."""

import asyncio
from collections.abc import Mapping

from tinkwell.provisioner.queue import work_queue

MAX_WAITING = 10_000


class Later:
    """Marks workflows as dirty after a while; each waits at most once."""

    def __init__(self, marked: work_queue.DirtySet, group: asyncio.TaskGroup) -> None:
        self._dirty = marked
        self._group = group
        self._waiting: set[str] = set()

    def look(self, workflow_id: str, seconds: float) -> None:
        """Have a workflow looked at after so long; beyond the limit a later list leads back to it."""
        if workflow_id not in self._waiting and len(self._waiting) < MAX_WAITING:
            self._waiting.add(workflow_id)
            self._group.create_task(self._sleep(workflow_id, seconds), name=f"look later {workflow_id}")

    async def put(self, workflow_id: str) -> None:
        """Have a workflow looked at now; waits for room in the set."""
        await self._dirty.put(workflow_id)

    def wake(self, workflow_ids: Mapping[str, float]) -> None:
        """Have workflows looked at in so many seconds. The set may be full: who empties it must not wait for room."""
        for workflow_id, seconds in workflow_ids.items():
            if seconds:
                self.look(workflow_id, seconds)
            else:
                self._group.create_task(self._dirty.put(workflow_id), name=f"wake {workflow_id}")

    async def _sleep(self, workflow_id: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._waiting.remove(workflow_id)
        await self._dirty.put(workflow_id)
