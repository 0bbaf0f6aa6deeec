"""The runs that are here, and who watches them."""

import asyncio
import itertools
import logging
from collections.abc import Container, Iterable, Iterator, Mapping, Set

from tinkwell.core.workflow.decide import RunKey
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.lease import run_claim
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

    def of(self, workflow_id: str) -> Mapping[RunKey, Job]:
        """Return the jobs of a workflow."""
        return self._of.get(workflow_id, {})


class Runs:
    """Runs by their workflows: so many may be here that nobody should look through all of them for one's."""

    def __init__(self, keys: Iterable[RunKey] = ()) -> None:
        self._of: dict[str, set[RunKey]] = {}
        for key in keys:
            self.add(key)

    def __contains__(self, key: RunKey) -> bool:
        return key in self.of(key.workflow_id)

    def __iter__(self) -> Iterator[RunKey]:
        return itertools.chain.from_iterable(self._of.values())

    def add(self, key: RunKey) -> None:
        """Add a run, which may be here already."""
        self._of.setdefault(key.workflow_id, set()).add(key)

    def discard(self, key: RunKey) -> None:
        """Remove a run, which need not be here."""
        runs = self._of.get(key.workflow_id, set())
        runs.discard(key)
        if not runs:
            self._of.pop(key.workflow_id, None)

    def of(self, workflow_id: str) -> Set[RunKey]:
        """Return the runs of a workflow."""
        return self._of.get(workflow_id, frozenset())


class Roster:
    """The runs of a runtime: jobs of this provisioner, what it clears up, what others watch, and what nobody does.

    What was found in the runtime is as old as the last `find`; jobs and clearings are of this moment.
    """

    def __init__(self, runtime: port.Runtime, claims: run_claim.Claims) -> None:
        self._runtime = runtime
        self._claims = claims
        self.jobs = Jobs()
        # Jobs whose actions have succeeded, while that is reported and cleared up.
        self.ended: set[RunKey] = set()
        self.clearing = Runs()
        # Nothing can be said to be gone before the runtime has once said what it has.
        self.is_known = False
        self._held = Runs()
        self._claimed: frozenset[RunKey] = frozenset()

    async def find(self) -> None:
        """Find the runs that are here, watched or not: such as those of a dead predecessor."""
        try:
            held = await self._runtime.held()
            await asyncio.to_thread(self._claims.keep_only, _Needed(self, held))
            self._claimed = await asyncio.to_thread(self._claims.others)
            self._held = Runs(held)
            self.is_known = True
        except port.RunError as error:
            logger.warning("the runtime does not say what it runs", extra={"cause": str(error)})
        except OSError as error:
            logger.warning("the state directory does not say who runs what", extra={"cause": str(error)})

    def forget(self, *keys: RunKey) -> None:
        """Take note that runs are not here any more, or not ours."""
        for key in keys:
            self._held.discard(key)

    def note(self, key: RunKey) -> None:
        """Take note that a run is still here."""
        self._held.add(key)

    def let_go(self, key: RunKey) -> None:
        """Take note that a run is not here any more, or somebody else's."""
        self.forget(key, key.main)
        try:
            self._claims.drop(key.main)
        except OSError as error:
            logger.warning("a claim cannot be dropped", extra={"action": key.action_id, "cause": str(error)})

    @property
    def busy(self) -> int:
        """How many jobs there are whose actions may still run."""
        return len(self.jobs) - len(self.ended)

    def running(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are watched here."""
        return frozenset(key for key, job in self.jobs.of(workflow_id).items() if not job.is_settled)

    def leftover(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are here and that nobody watches."""
        found = self._held.of(workflow_id) - self.jobs.of(workflow_id).keys() - self.clearing.of(workflow_id)
        return frozenset(key for key in found if key.main not in self._claimed)

    def others(self, workflow_id: str) -> frozenset[RunKey]:
        """Return its runs that are here, or may be, and are left alone: they are others', or on their way out."""
        claimed = {key for key in self._held.of(workflow_id) if key.main in self._claimed}
        here = claimed | self.clearing.of(workflow_id) | self.jobs.of(workflow_id).keys()
        return frozenset(here - self.running(workflow_id))

    @property
    def workflow_ids(self) -> frozenset[str]:
        """The workflows of all runs that are here and not others'."""
        keys = {*self._held, *self.jobs} - self._claimed
        return frozenset(key.workflow_id for key in keys)

    def has(self, workflow_id: str) -> bool:
        """Say whether a run of a workflow is here, or may be."""
        return any(runs.of(workflow_id) for runs in (self.jobs, self.clearing, self._held))


class _Needed(Container[RunKey]):
    """The attempts whose claims are needed: jobs that begin while this is asked are among them."""

    def __init__(self, roster: Roster, held: frozenset[RunKey]) -> None:
        self._roster = roster
        self._held = {key.main for key in held}

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, RunKey):
            return False
        return key in self._held or key in self._roster.jobs or key in self._roster.clearing
