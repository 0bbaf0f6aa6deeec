"""The runs that are here, and who watches them."""

import asyncio
import logging
from collections.abc import Collection, Container

from tinkwell.core.decide import RunKey
from tinkwell.provisioner import claim
from tinkwell.provisioner.job import Job
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)


class Jobs(dict[RunKey, Job]):
    """Jobs by their runs, and by their workflows."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[str, dict[RunKey, Job]] = {}

    def __setitem__(self, key: RunKey, job: Job) -> None:
        super().__setitem__(key, job)
        self._of.setdefault(key.workflow_id, {})[key] = job

    def __delitem__(self, key: RunKey) -> None:
        super().__delitem__(key)
        jobs = self._of[key.workflow_id]
        del jobs[key]
        if not jobs:
            del self._of[key.workflow_id]

    def of(self, workflow_id: str) -> Collection[Job]:
        """Return the jobs of a workflow."""
        return self._of.get(workflow_id, {}).values()


class Roster:
    """The runs of a runtime: jobs of this provisioner, what it clears up, what others watch, and what nobody does.

    What was found in the runtime is as old as the last `find`; jobs and clearings are of this moment.
    """

    def __init__(self, runtime: port.Runtime, claims: claim.Claims) -> None:
        self._runtime = runtime
        self._claims = claims
        self.jobs = Jobs()
        self.clearing: set[RunKey] = set()
        # Nothing can be said to be gone before the runtime has once said what it has.
        self.is_known = False
        self._held: set[RunKey] = set()
        self._claimed: frozenset[RunKey] = frozenset()

    async def find(self) -> None:
        """Find the runs that are here, watched or not: such as those of a dead predecessor."""
        try:
            held = await self._runtime.held()
            await asyncio.to_thread(self._claims.keep_only, _Needed(self, held))
            self._claimed = await asyncio.to_thread(self._claims.others)
            self._held = set(held)
            self.is_known = True
        except port.RunError as error:
            logger.warning("the runtime does not say what it runs", extra={"cause": str(error)})
        except OSError as error:
            logger.warning("the state directory does not say who runs what", extra={"cause": str(error)})

    def forget(self, *keys: RunKey) -> None:
        """Take note that runs are not here any more, or not ours."""
        self._held.difference_update(keys)

    def note(self, key: RunKey) -> None:
        """Take note that a run is still here."""
        self._held.add(key)

    @property
    def running(self) -> frozenset[RunKey]:
        """The runs that are watched here."""
        return frozenset(key for key, job in self.jobs.items() if not job.is_settled)

    @property
    def leftover(self) -> frozenset[RunKey]:
        """The runs that are here and that nobody watches."""
        found = self._held - self.jobs.keys() - self.clearing
        return frozenset(key for key in found if key.main not in self._claimed)

    @property
    def others(self) -> frozenset[RunKey]:
        """The runs that are here, or may be, and that are left alone: they are others', or on their way out."""
        claimed = {key for key in self._held if key.main in self._claimed}
        return frozenset((claimed | self.clearing | self.jobs.keys()) - self.running)

    @property
    def workflow_ids(self) -> frozenset[str]:
        """The workflows of all runs that are here and not others'."""
        keys = (self._held | self.jobs.keys()) - self._claimed
        return frozenset(key.workflow_id for key in keys)

    def has(self, workflow_id: str) -> bool:
        """Say whether a run of a workflow is here, or may be."""
        return any(key.workflow_id == workflow_id for keys in (self.jobs, self.clearing, self._held) for key in keys)


class _Needed(Container[RunKey]):
    """The attempts whose claims are needed: jobs that begin while this is asked are among them."""

    def __init__(self, roster: Roster, held: frozenset[RunKey]) -> None:
        self._roster = roster
        self._held = {key.main for key in held}

    def __contains__(self, key: object) -> bool:
        return key in self._held or key in self._roster.jobs or key in self._roster.clearing
