"""The runs of workflows on this machine, and whether this provisioner, another one or nobody watches each of them."""

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
    """A mapping from run keys to values, grouped by workflow, so that the runs of one workflow are found quickly."""

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
        """Return the value of a run, None if it is not in the mapping."""
        return self.of(key.owner).get(key)

    def values(self) -> Iterator[V]:
        """Yield the values of all runs."""
        return (value for runs in self._of.values() for value in runs.values())

    def discard(self, key: RunKey) -> None:
        """Remove a run, if it is in the mapping."""
        if key in self:
            runs = self._of[key.owner]
            del runs[key]
            self._count -= 1
            if not runs:
                del self._of[key.owner]

    def of(self, workflow_id: str) -> Mapping[RunKey, V]:
        """Return the runs of a workflow with their values."""
        return self._of.get(workflow_id, {})


class Roster:
    """The runs of a runtime: jobs of this provisioner, runs of others that claim them, and runs that nobody watches.

    Jobs are always current. The other runs are as the last `find` saw them, with what jobs have changed since.
    """

    def __init__(self, runtime: port.Runtime, claims: run_claim.Claims) -> None:
        self._runtime = runtime
        self._claims = claims
        self.jobs: Runs[Job] = Runs()
        # Jobs that do not count against `concurrency`: their actions have succeeded, or their runs are being removed.
        self.placeless: set[RunKey] = set()
        # Workflows of which this process or its predecessor began a run, until a look finds nothing of it left.
        self.begun: set[str] = set()
        # Whether `find` has once succeeded. Before that, no run can be said to be gone.
        self.is_known = False
        self._held: Runs[None] = Runs()
        self._claimed: frozenset[RunKey] = frozenset()

    async def find(self) -> None:
        """Ask the runtime and the state directory which runs are here, such as those of a dead predecessor."""
        try:
            held = await self._runtime.held(RunKind.WORKFLOW)
            await asyncio.to_thread(self._claims.keep_only, RunKind.WORKFLOW, _Needed(self.jobs, held))
            self._claimed = await asyncio.to_thread(self._claims.others, RunKind.WORKFLOW)
            self._held = Runs((key, None) for key in held)
            self.is_known = True
        except port.RunError as error:
            logger.warning(
                "the runtime failed to list its runs; runs that nobody watches stay for now",
                extra={"cause": str(error)},
            )
        except OSError as error:
            logger.warning(
                "the claims of runs in the state directory cannot be read; runs that nobody watches stay for now",
                extra={"cause": str(error)},
            )

    def begin(self, job: Job) -> None:
        """Record a job that begins."""
        self.jobs[job.key] = job
        if job.state is RunState.CLEARING:
            self.placeless.add(job.key)
        else:
            self.begun.add(job.key.owner)

    def end(self, job: Job) -> None:
        """Record the end of a job, and whether its run is still here; if the job has crashed, the next `find` tells."""
        self.jobs.discard(job.key)
        self.placeless.discard(job.key)
        if job.state in (RunState.LEFT, RunState.STUCK):
            self.note(job.key)
        elif job.state in (RunState.GONE, RunState.REFUSED):
            self._let_go(job.key)

    def note(self, key: RunKey) -> None:
        """Record that a run is still here."""
        self._held[key] = None

    def _let_go(self, key: RunKey) -> None:
        """Record that a run is not here, or belongs to another provisioner."""
        self._held.discard(key)
        self._held.discard(key.main)
        try:
            self._claims.drop(key.main)
        except OSError as error:
            logger.warning(
                "the claim of a run that is over cannot be removed from the state directory; it is tried again later",
                extra={"action": key.run, "cause": str(error)},
            )

    @property
    def busy(self) -> int:
        """The number of jobs that count against `concurrency`."""
        return len(self.jobs) - len(self.placeless)

    def running(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are watched here."""
        return frozenset(key for key, job in self.jobs.of(workflow_id).items() if job.state.is_watched)

    def leftover(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs of a workflow that are here and that nobody watches."""
        found = self._held.of(workflow_id).keys() - self.jobs.of(workflow_id).keys()
        return frozenset(key for key in found if key.main not in self._claimed)

    def others(self, workflow_id: str) -> frozenset[RunKey]:
        """Return the runs that are left alone: other provisioners claim them, or a job is removing them."""
        claimed = {key for key in self._held.of(workflow_id) if key.main in self._claimed}
        return frozenset((claimed | self.jobs.of(workflow_id).keys()) - self.running(workflow_id))

    @property
    def workflow_ids(self) -> frozenset[str]:
        """The workflows of all runs that are here and that no other provisioner claims."""
        return frozenset(key.owner for key in {*self._held, *self.jobs} - self._claimed)

    def has(self, workflow_id: str) -> bool:
        """Return whether a run of a workflow is here, or may be."""
        return bool(self.jobs.of(workflow_id) or self._held.of(workflow_id))


class _Needed(Container[RunKey]):
    """The attempts whose claims are kept. It reads `jobs` at each question, so it has jobs that begin meanwhile."""

    def __init__(self, jobs: Runs[Job], held: frozenset[RunKey]) -> None:
        self._jobs = jobs
        self._held = {key.main for key in held}

    def __contains__(self, key: object) -> bool:
        return key in self._held or key in self._jobs
