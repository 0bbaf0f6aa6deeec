"""Places for jobs, of which there are as many as actions may run at once, and workflows that wait for one."""

from collections import OrderedDict

from tinkwell.provisioner.workflow import run_registry

MAX_WAITING = 10_000
# What has ended has no place any more while it is reported and cleared up. It must not pile up, though: there may be
# so many times as many jobs as places.
MOST_JOBS = 3


class Places:
    """Knows whether one more job may begin, and who is next."""

    def __init__(self, here: run_registry.Roster, count: int) -> None:
        self._here = here
        self._count = count
        self._waiting: OrderedDict[str, None] = OrderedDict()

    @property
    def has_room(self) -> bool:
        """Whether one more job may begin."""
        return self._here.busy < self._count and len(self._here.jobs) < MOST_JOBS * self._count

    @property
    def has_waiting(self) -> bool:
        """Whether a workflow waits for a place."""
        return bool(self._waiting)

    def is_waiting(self, workflow_id: str) -> bool:
        """Say whether this workflow does."""
        return workflow_id in self._waiting

    def wait(self, workflow_id: str) -> None:
        """Remember a workflow until a job ends; beyond the limit it is found by a later list."""
        if len(self._waiting) < MAX_WAITING:
            self._waiting[workflow_id] = None

    def take(self) -> list[str]:
        """Take one that waits, if there is one and there is room; who looks takes the next, should it need none."""
        return [self._waiting.popitem(last=False)[0]] if self._waiting and self.has_room else []
