"""What a run was like, for people: what became of operations and calls, which faults there were, what was found."""

from collections import Counter
from collections.abc import Iterator, Sequence

from support.chaos import report
from support.chaos.deck import Deck
from support.chaos.server import Server
from support.chaos.worker import Worker
from support.history.record import Violation, Watcher
from support.release_chaos.fault import Kind
from support.release_history import effect, lost
from support.release_history.record import History, Mark
from tinkwell.core.event.kinds import ResourceType, State


def tell(
    deck: Deck[Kind],
    servers: Sequence[Server],
    workers: Sequence[Worker],
    history: History,
    watchers: Sequence[Watcher],
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
            *about(history),
            *report.watchers(watchers),
            f"settled    {settled_seconds:.0f} s after the last fault",
            "",
            *(line for server in servers for line in report.server_lines(server)),
            *(line for worker in workers for line in report.worker_lines(worker)),
            "",
            *report.findings(violations, seed),
        )
    )


def about(history: History) -> Iterator[str]:
    """Yield what became of operations and calls."""
    yield from _operations(history)
    yield from _lives(history)
    yield from _calls(history)
    yield from _lost(history)


def _operations(history: History) -> Iterator[str]:
    ends = Counter(
        f"{event.state} ({event.reason})" if event.reason else event.state
        for event in history.events
        if event.resource_type is ResourceType.OPERATION and State(event.state).is_final
    )
    ends["unfinished"] = len(history.plans) - ends.total()
    releases = {plan.release for plan in history.plans}
    waits = Counter(plan.charts.wait.value for plan in history.plans if plan.charts is not None)
    states = Counter(node.state.value for node in history.nodes)
    yield f"operations {len(history.plans)} on {len(releases)} releases: {report.counted(ends)}"
    yield f"           {waits.total()} of them install charts: {report.counted(waits) or 'none'}"
    yield f"nodes      {len(history.nodes)}: {report.counted(states)}"


def _lives(history: History) -> Iterator[str]:
    outcomes = Counter(each.outcome.value for each in history.emissions)
    again = sum(each.version > 1 for each in history.emissions)
    hooks = Counter(node.state.value for node in history.nodes if "@" in node.path)
    yield f"emitted    {len(history.emissions)}, {again} of them again: {report.counted(outcomes) or 'nothing'}"
    yield f"hooks      {hooks.total()}: {report.counted(hooks) or 'none'}"


def _calls(history: History) -> Iterator[str]:
    steps = Counter(step.kind.value for node in history.nodes for step in node.steps)
    begun = sum(line.mark is Mark.BEGIN for line in history.effects)
    ended = sum(line.mark is Mark.END for line in history.effects)
    yield f"steps      {report.counted(steps)}"
    yield f"scripts    {begun} of actions and removals began, {begun - ended} of them were killed"


def _lost(history: History) -> Iterator[str]:
    said = {line.step_id: line for line in history.effects if line.mark is Mark.SAID}
    answers: Counter[str] = Counter()
    for node in history.nodes:
        for step in node.steps:
            if step.is_lost:
                found = lost.answer_after(node, step, said)
                answers[found.said if found is not None else "never asked"] += 1
    overlaps = effect.overlaps(history.events, history.effects)
    yield f"lost       {answers.total()} steps on another engine, then found: {report.counted(answers) or 'nothing'}"
    yield f"           {overlaps} calls began while one that was given up was alive on another engine"
