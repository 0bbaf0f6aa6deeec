"""The runs that are here, and who watches them."""

import logging
from collections.abc import Collection

from tinkwell.core.decide import RunKey
from tinkwell.provisioner import agent
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)


class Jobs(dict[RunKey, agent.Job]):
    """Jobs by their runs, and by their workflows."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[str, dict[RunKey, agent.Job]] = {}

    def __setitem__(self, key: RunKey, job: agent.Job) -> None:
        super().__setitem__(key, job)
        self._of.setdefault(key.workflow_id, {})[key] = job

    def __delitem__(self, key: RunKey) -> None:
        super().__delitem__(key)
        jobs = self._of[key.workflow_id]
        del jobs[key]
        if not jobs:
            del self._of[key.workflow_id]

    def of(self, workflow_id: str) -> Collection[agent.Job]:
        """Return the jobs of a workflow."""
        return self._of.get(workflow_id, {}).values()


class Roster:
    """The runs of a runtime: the jobs of this provisioner, what it clears up, and what nobody watches.

    What was found in the runtime is as old as the last `find`; jobs and clearings are of this moment.
    """

    def __init__(self, runtime: port.Runtime) -> None:
        self._runtime = runtime
        self.jobs = Jobs()
        self.clearing: set[RunKey] = set()
        self._held: set[RunKey] = set()

    async def find(self) -> None:
        """Find the runs that are here, watched or not: such as those of a dead predecessor."""
        try:
            self._held = set(await self._runtime.held())
        except port.RunError as error:
            logger.warning("the runtime does not say what it runs", extra={"cause": str(error)})

    def note(self, key: RunKey) -> None:
        """Take note that a run is here, and that nobody watches it any more."""
        self._held.add(key)

    def forget(self, *keys: RunKey) -> None:
        """Take note that runs are not here any more."""
        self._held.difference_update(keys)

    @property
    def running(self) -> frozenset[RunKey]:
        """The runs that are watched here."""
        return frozenset(key for key, job in self.jobs.items() if not job.is_settled)

    @property
    def leftover(self) -> frozenset[RunKey]:
        """The runs that are here and that nobody watches."""
        return frozenset(self._held - self.jobs.keys() - self.clearing)

    @property
    def here(self) -> frozenset[RunKey]:
        """All runs that are here, or may be."""
        return frozenset(self._held | self.jobs.keys() | self.clearing)

    def has(self, workflow_id: str) -> bool:
        """Say whether a run of a workflow is here, or may be."""
        return any(key.workflow_id == workflow_id for keys in (self.jobs, self.clearing, self._held) for key in keys)
