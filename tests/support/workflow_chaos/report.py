"""What a run was like, for people: what became of workflows and attempts, which faults there were, what was found."""

from collections import Counter
from collections.abc import Iterator, Sequence

from support.chaos import report
from support.chaos.deck import Deck
from support.chaos.server import Server
from support.chaos.worker import Worker
from support.history.record import Violation, Watcher
from support.workflow_chaos.fault import Kind
from support.workflow_chaos.pruner import Pruner
from support.workflow_history.record import History, Mark
from tinkwell.core.event.kinds import EventType, ResourceType, State


def tell(
    deck: Deck[Kind],
    servers: Sequence[Server],
    workers: Sequence[Worker],
    history: History,
    watchers: Sequence[Watcher],
    pruner: Pruner,
    violations: Sequence[Violation],
    *,
    seed: int,
    settled_seconds: float,
) -> str:
    """Return the tables and the findings of a run."""
    return "\n".join(
        (
            *report.faults(deck),
            "",
            *_workflows(history),
            *_attempts(history),
            _forgotten(pruner),
            *report.watchers(watchers),
            f"settled    {settled_seconds:.0f} s after the last fault",
            "",
            *(line for server in servers for line in report.server_lines(server)),
            *(line for worker in workers for line in report.worker_lines(worker)),
            "",
            *report.findings(violations, seed),
        )
    )


def _workflows(history: History) -> Iterator[str]:
    ends = Counter(
        event.state.value
        for event in history.events
        if event.resource_type is ResourceType.WORKFLOW
        and event.state.is_final
        and event.event_type is not EventType.DELETED
    )
    ends["unfinished"] = len(history.plans) - ends.total()
    machines = {worker for plan in history.plans for worker in plan.workers}
    yield f"workflows  {len(history.plans)} on {len(machines)} machines: {report.counted(ends)}"


def _forgotten(pruner: Pruner) -> str:
    pruned = pruner.pruned
    told = f"forgotten  {pruned.workflows} workflows, {pruned.log_lines} lines of output by {pruner.calls} calls"
    return f"{told}; {pruner.interrupted} of these were cut off, and servers forgot the rest"


def _attempts(history: History) -> Iterator[str]:
    starts = [status for status in history.statuses if status.state is State.RUNNING]
    repeated = sum(status.attempt > 1 for status in starts)
    retried = sum(event.event_type is EventType.ACTION_RETRYING for event in history.events)
    last = max((status.attempt for status in starts), default=0)
    ends = Counter(status.state.value for status in history.statuses if status.state is not State.RUNNING)
    begun = sum(effect.mark is Mark.BEGIN for effect in history.effects)
    ended = sum(effect.mark is Mark.END for effect in history.effects)
    yield f"attempts   {len(starts)} started, {repeated} of them repetitions after {retried} lost or failed ones"
    yield f"           up to attempt {last} of an action; reported ends: {report.counted(ends)}"
    yield f"scripts    {begun} began, {begun - ended} of them were killed"
