"""Whether attempts were counted one by one, and whether what was reported about each is what its run wrote down."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from support.history.record import Violation
from support.workflow_history.record import Effect, Mark, Status
from tinkwell.core.event.kinds import State

_KILLED = 137


class _Attempt(NamedTuple):
    action_id: str
    number: int


def check(statuses: Sequence[Status], effects: Sequence[Effect]) -> Iterator[Violation]:
    """Yield what is wrong."""
    yield from _check_count(statuses)
    started = {_key(status): status for status in statuses if status.state is State.RUNNING}
    runs: defaultdict[_Attempt, list[Effect]] = defaultdict(list)
    for effect in effects:
        runs[_key(effect)].append(effect)
    for attempt, lines in runs.items():
        yield from _check_run(attempt, lines, started.get(attempt))
    for status in statuses:
        if status.state in (State.SUCCEEDED, State.FAILED):
            yield from _check_report(status, runs.get(_key(status), []))


def _check_count(statuses: Sequence[Status]) -> Iterator[Violation]:
    """The journal counts attempts from 1 without gaps, and each ends at most once before the next one starts."""
    last: dict[str, Status] = {}
    for status in statuses:
        before = last.get(status.action_id)
        last[status.action_id] = status
        if status.state is State.RUNNING:
            due = before.attempt + 1 if before else 1
            if status.attempt != due:
                yield _violation("T1", status, f"the journal has attempt {status.attempt} where {due} was due")
            if before is not None and before.state is State.RUNNING:
                yield _violation("T1", status, f"attempt {status.attempt} starts while attempt {before.attempt} runs")
        elif before is None or before.state is not State.RUNNING:
            # An action that never ran may be cancelled, and a retried one as well.
            if status.state is not State.CANCELLED:
                yield _violation("T1", status, f"attempt {status.attempt} ends as {status.state} and does not run")
        elif status.attempt != before.attempt:
            yield _violation("T1", status, f"attempt {status.attempt} ends while attempt {before.attempt} runs")


def _check_run(attempt: _Attempt, lines: Sequence[Effect], started: Status | None) -> Iterator[Violation]:
    begins = [line for line in lines if line.mark is Mark.BEGIN]
    if len(begins) > 1:
        yield _violation("T2", begins[1], f"the script of attempt {attempt.number} began {len(begins)} times")
    if started is None:
        yield _violation("T2", lines[0], f"the script of attempt {attempt.number} began, and nobody had reported that")
    elif any(begin.at < started.at for begin in begins):
        early = started.at - begins[0].at
        text = f"the script of attempt {attempt.number} began {early:.3f} s before that was recorded"
        yield _violation("T2", begins[0], text)
    if started is not None and any(line.worker_id != started.worker_id for line in lines):
        yield _violation("T2", lines[0], f"attempt {attempt.number} ran on machine {lines[0].worker_id}")


def _check_report(status: Status, lines: Sequence[Effect]) -> Iterator[Violation]:
    ended = next((line for line in lines if line.mark is Mark.END), None)
    what = f"attempt {status.attempt} was reported as {status.state} with exit code {status.exit_code}"
    if status.state is State.SUCCEEDED and (ended is None or ended.exit_code != 0):
        yield _violation("T3", status, f"{what}, and its script {_how(ended)}")
    elif status.state is State.FAILED and status.exit_code is not None:
        # A run may be killed before it wrote its end, and after that, too.
        expected = _KILLED if ended is None else ended.exit_code
        if status.exit_code not in (expected, _KILLED):
            yield _violation("T3", status, f"{what}, and its script {_how(ended)}")
    if ended is not None and status.state is State.SUCCEEDED and status.at < ended.at:
        yield _violation("T3", status, f"{what} {ended.at - status.at:.3f} s before its script ended")


def _how(ended: Effect | None) -> str:
    return "never ended" if ended is None else f"ended with {ended.exit_code}"


def _key(record: Status | Effect) -> _Attempt:
    return _Attempt(record.action_id, record.attempt)


def _violation(rule: str, record: Status | Effect, text: str) -> Violation:
    return Violation(rule, f"workflow {record.workflow_id}", f"action {record.action_id}: {text}")
