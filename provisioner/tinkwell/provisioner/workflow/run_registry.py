"""The runs that are here, and who sees to them."""

import asyncio
import logging
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from tinkwell.core.value.run_key import RunKey, RunKind
from tinkwell.provisioner.agent.job import Job
from tinkwell.provisioner.agent.run_state import RunState
from tinkwell.provisioner.lease import run_claim
from tinkwell.provisioner.runtime import port

logger = logging.getLogger(__name__)
V = TypeVar("V")


class Runs(Generic[V]):
    """Runs by their workflows: so many may be here that nobody should look through all of them for one's."""

    def __init__(self, runs: Iterable[tuple[RunKey, V]] = ()) -> None:
        self._of: dict[str, dict[RunKey, V]] = {}
        self._count = 0
        for key, value in runs:
            self[key] = value

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, RunKey) and key in self.of(key.owner)

    def __iter__(self) -> Iterator[RunKey]:
        return (key for runs in self._of.values() for key in runs)

    def __setitem__(self, key: RunKey, value: V) -> None:
        runs = self._of.setdefault(key.owner, {})
        self._count += key not in runs
        runs[key] = value

    def get(self, key: RunKey) -> V | None:
        """Return what is known of a run; None where it is not here."""
        return self.of(key.owner).get(key)

    def values(self) -> Iterator[V]:
        """Return what is known of all runs."""
        return (value for runs in self._of.values() for value in runs.values())

    def discard(self, key: RunKey) -> None:
        """Remove a run, which need not be here."""
        if key in self:
            runs = self._of[key.owner]
            del runs[key]
            self._count -= 1
            if not runs:
                del self._of[key.owner]

    def of(self, workflow_id: str) -> Mapping[RunKey, V]:
        """Return the runs of a workflow."""
        return self._of.get(workflow_id, {})


class Roster:
    """The runs of a runtime: jobs of this provisioner, what others watch, and what nobody sees to.

    What was found in the runtime is as old as the last `find`; jobs are of this moment.
    """

    def __init__(self, runtime: port.Runtime, claims: run_claim.Claims) -> None:
        self._runtime = runtime
        self._claims = claims
        self.jobs: Runs[Job] = Runs()
        # Jobs that need no place any more: their actions have succeeded, or their runs are being cleared up.
        self.placeless: set[RunKey] = set()
        # Workflows of which something was begun here, or by a predecessor; each only until it is looked at after that.
        self.begun: set[str] = set()
        # Nothing can be said to be gone before the runtime has once said what it has.
        self.is_known = False
        self._held: Runs[None] = Runs()
        self._claimed: frozenset[RunKey] = frozenset()

    async def find(self) -> None:
        """Find the runs that are here, watched or not: such as those of a dead predecessor."""
        try:
            held = await self._runtime.held(RunKind.WORKFLOW)
            await asyncio.to_thread(self._claims.keep_only, RunKind.WORKFLOW, _Needed(self.jobs, held))
            self._claimed = await asyncio.to_thread(self._claims.others, RunKind.WORKFLOW)
            self._held = Runs((key, None) for key in held)
            self.is_known = True
        except port.RunError as error:
            logger.warning("the runtime does not say what it runs", extra={"cause": str(error)})
        except OSError as error:
            logger.warning("the state directory does not say who runs what", extra={"cause": str(error)})

    def begin(self, job: Job) -> None:
        """Take note of a job that begins."""
        self.jobs[job.key] = job
        if job.state is RunState.CLEARING:
            self.placeless.add(job.key)
        else:
            self.begun.add(job.key.owner)

    def end(self, job: Job) -> None:
        """Take note of a job that is over, and of what it has left; after a fault in it the next `find` tells that."""
        self.jobs.discard(job.key)
        self.placeless.discard(job.key)
        if job.state in (RunState.LEFT, RunState.STUCK):
            self.note(job.key)
        elif job.state in (RunState.GONE, RunState.REFUSED):
            self._let_go(job.key)

    def note(self, key: RunKey) -> None:
        """Take note that a run is still here."""
        self._held[key] = None

    def _let_go(self, key: RunKey) -> None:
        """Take note that a run is not here any more, or somebody else's."""
        self._held.discard(key)
        self._held.discard(key.main)
        try:
            self._claims.drop(key.main)
        except OSError as error:
            logger.warning("a claim cannot be dropped", extra={"action": key.run, "cause": str(error)})

    @property
    def busy(self) -> int:
        """How many jobs there are whose actions may still run."""
        return len(self.jobs) - len(self.placeless)

    def running(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are watched here."""
        return frozenset(key for key, job in self.jobs.of(workflow_id).items() if job.state.is_watched)

    def leftover(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are here and that nobody sees to."""
        found = self._held.of(workflow_id).keys() - self.jobs.of(workflow_id).keys()
        return frozenset(key for key in found if key.main not in self._claimed)

    def others(self, workflow_id: str) -> frozenset[RunKey]:
        """Return its runs that are here, or may be, and are left alone: they are others', or on their way out."""
        claimed = {key for key in self._held.of(workflow_id) if key.main in self._claimed}
        return frozenset((claimed | self.jobs.of(workflow_id).keys()) - self.running(workflow_id))

    @property
    def workflow_ids(self) -> frozenset[str]:
        """The workflows of all runs that are here and not others'."""
        return frozenset(key.owner for key in {*self._held, *self.jobs} - self._claimed)

    def has(self, workflow_id: str) -> bool:
        """Say whether a run of a workflow is here, or may be."""
        return bool(self.jobs.of(workflow_id) or self._held.of(workflow_id))


class _Needed(Container[RunKey]):
    """The attempts whose claims are needed: jobs that begin while this is asked are among them."""

    def __init__(self, jobs: Runs[Job], held: frozenset[RunKey]) -> None:
        self._jobs = jobs
        self._held = {key.main for key in held}

    def __contains__(self, key: object) -> bool:
        return key in self._held or key in self._jobs
