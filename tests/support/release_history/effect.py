"""Whether calls of images kept out of each other's way, and came when their turn was, by what they wrote down."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from support.history.record import Violation
from support.release_history.record import Effect, Event, Mark, written_path
from tinkwell.core.event.kinds import EventType, ResourceType, State
from tinkwell.core.release.report import STEP_LOST

_KILLED = 137


class _Attempt(NamedTuple):
    step_id: str
    number: int


class Calls:
    """What is stored of calls that may change something: when attempts began and how steps ended."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.started: dict[_Attempt, Event] = {}
        self.ended: dict[_Attempt, Event] = {}
        self.ready: dict[tuple[str, str], Event] = {}
        for event in events:
            if event.event_type is EventType.NODE_READY:
                self.ready[event.operation_id, written_path(event.path)] = event
            elif event.resource_type is not ResourceType.STEP:
                continue
            elif event.state == State.RUNNING:
                self.started[_Attempt(event.resource_id, event.attempt)] = event
            else:
                self.ended[_Attempt(event.resource_id, event.attempt)] = event

    def is_given_up(self, effect: Effect, at: float) -> bool:
        """Whether at that moment the attempt of a line had ended, though nobody knew what became of it."""
        end = self.ended.get(_attempt(effect))
        if end is None or end.at > at:
            return False
        is_lost = end.state == State.FAILED and end.message.startswith(STEP_LOST)
        return is_lost or end.state in (State.CANCELLED, State.TIMEOUT)


def check(events: Sequence[Event], effects: Sequence[Effect]) -> Iterator[Violation]:
    """Yield what is wrong."""
    calls = Calls(events)
    yield from _check_alone(calls, effects)
    begins: dict[_Attempt, Effect] = {}
    for effect in effects:
        if effect.mark is Mark.BEGIN:
            if _attempt(effect) in begins:
                yield _violation("T2", effect, "began twice")
            begins[_attempt(effect)] = effect
            yield from _check_begin(calls, effect)
    ends = {_attempt(effect): effect for effect in effects if effect.mark is Mark.END}
    for attempt, event in calls.ended.items():
        yield from _check_report(attempt, event, begins.get(attempt), ends.get(attempt))


def overlaps(events: Sequence[Event], effects: Sequence[Effect]) -> int:
    """Count calls that began while another engine still ran one on their resource that was given up."""
    calls, alive = Calls(events), 0
    begins = {_attempt(effect): effect for effect in effects if effect.mark is Mark.BEGIN}
    for effect in effects:
        if effect.mark is Mark.SAME_RESOURCE:
            other = _other(effect, begins)
            alive += other is not None and _is_pardoned(calls, other, effect)
    return alive


def _check_alone(calls: Calls, effects: Sequence[Effect]) -> Iterator[Violation]:
    """What calls noticed themselves, by locks that are let go only when their holder dies; and the journal alone."""
    begins: dict[_Attempt, Effect] = {}
    ended = {_attempt(effect) for effect in effects if effect.mark is Mark.END}
    alive: dict[tuple[str, str], dict[_Attempt, Effect]] = {}
    for effect in effects:
        key, there = _attempt(effect), alive.setdefault(effect.resource, {})
        if effect.mark is Mark.SAME_RESOURCE:
            other = _other(effect, begins)
            if other is None or not _is_pardoned(calls, other, effect):
                yield _violation("E1", effect, f"began while {effect.said or 'another call'} was alive")
        elif effect.mark is Mark.END:
            there.pop(key, None)
        elif effect.mark is Mark.BEGIN:
            begins[key] = effect
            for other in there.values():
                if not _is_pardoned(calls, other, effect):
                    yield _violation("E1", effect, f"began while {other.step_id}.{other.attempt} ran")
            # Who has written an end was alive since its beginning.
            if key in ended:
                there[key] = effect


def _is_pardoned(calls: Calls, other: Effect, effect: Effect) -> bool:
    """Whether nobody can help it: on another engine a call is alive that was given up before this one began."""
    return other.engine != effect.engine and calls.is_given_up(other, effect.at)


def _other(effect: Effect, begins: Mapping[_Attempt, Effect]) -> Effect | None:
    """Return the beginning of the call that was alive already, as far as it is known."""
    step_id, _, number = effect.said.rpartition(".")
    return begins.get(_Attempt(step_id, int(number))) if step_id else None


def _check_begin(calls: Calls, begin: Effect) -> Iterator[Violation]:
    started, ended = calls.started.get(_attempt(begin)), calls.ended.get(_attempt(begin))
    if started is None:
        yield _violation("T2", begin, "began, and nobody had reported that")
    elif begin.at < started.at:
        yield _violation("T2", begin, f"began {started.at - begin.at:.3f} s before that was recorded")
    elif (started.operation_id, written_path(started.path)) != (begin.operation_id, begin.path):
        yield _violation("T2", begin, f"is a step of {started.path} of operation {started.operation_id}")
    if ended is not None and begin.at > ended.at:
        yield _violation("T2", begin, f"began {begin.at - ended.at:.3f} s after its end as {ended.state} was recorded")
    ready = calls.ready.get((begin.operation_id, begin.path))
    if ready is not None and begin.at > ready.at:
        yield _violation("E2", begin, f"began {begin.at - ready.at:.3f} s after {begin.path} was READY")


def _check_report(attempt: _Attempt, event: Event, begin: Effect | None, end: Effect | None) -> Iterator[Violation]:
    what = f"attempt {attempt.number} of a step of {event.path} was reported as {event.state}, exit {event.exit_code}"
    who = f"operation {event.operation_id}"
    how = "never ended" if end is None else f"ended with {end.exit_code}"
    if event.state == State.SUCCEEDED:
        if begin is None or end is None or end.exit_code != 0:
            yield Violation("T3", who, f"{what}, and its script {how}")
        elif event.at < end.at:
            yield Violation("T3", who, f"{what} {end.at - event.at:.3f} s before its script ended")
    elif event.state in (State.FAILED, State.PENDING) and event.exit_code is not None:
        # A run may be killed before it wrote its end, and after that, too.
        expected = _KILLED if end is None else end.exit_code
        if event.exit_code not in (expected, _KILLED):
            yield Violation("T3", who, f"{what}, and its script {how}")


def _attempt(effect: Effect) -> _Attempt:
    return _Attempt(effect.step_id, effect.attempt)


def _violation(rule: str, effect: Effect, text: str) -> Violation:
    what = f"{effect.call} of {effect.path} (step {effect.step_id}, attempt {effect.attempt}, on {effect.engine})"
    return Violation(rule, f"release {effect.release}, operation {effect.operation_id}", f"{what}: {text}")
