"""What is to be done in a run: machines, workflows for them, and how each of these is meant to end."""

import dataclasses
import itertools
import json
import random
import uuid
from collections.abc import Sequence

from support.workflow_chaos import journal
from support.workflow_history.record import Plan
from tinkwell.core.event.kinds import State

ACTIONS = 5
# Enough for everything that is lost on the way; one that fails by plan has fewer.
_RETRIES = 50
_NEVER = 1_000_000
_TOO_LONG_SECONDS = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Errand:
    """A workflow to be: its plan, its template, and when it is created and perhaps cancelled, in seconds."""

    plan: Plan
    template: str
    template_name: str
    devices: dict[str, str]
    create_after: float
    cancel_after: float | None


@dataclasses.dataclass(slots=True)
class _Step:
    """An action to be."""

    worker: int
    seconds: float
    retries: int = _RETRIES
    delay_seconds: int = 0
    timeout_seconds: int = 0
    first_good_attempt: int = 1


def machines(chance: random.Random, count: int) -> list[str]:
    """Draw ids of machines."""
    return [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(count)]


def errands(
    chance: random.Random, workers: Sequence[str], count: int, *, over_seconds: float, pace: float
) -> list[Errand]:
    """Draw workflows, which are created over so many seconds; their actions take `pace` times as long as usual."""
    return [_errand(chance, number, workers, chance.uniform(0, over_seconds), pace) for number in range(count)]


def _errand(chance: random.Random, number: int, workers: Sequence[str], create_after: float, pace: float) -> Errand:
    chosen = chance.sample(workers, chance.choices((1, 2, 3), (60, 30, 10))[0])
    steps = [_step(chance, chance.randrange(len(chosen)), pace) for _ in range(ACTIONS)]
    ends, culprit, cancel_after = frozenset({State.SUCCEEDED}), None, None
    kinds = ("succeeds", "recovers", "fails", "times out", "is cancelled")
    (kind,) = chance.choices(kinds, (58, 14, 10, 8, 10))
    index = chance.randrange(ACTIONS)
    match kind:
        case "recovers":
            steps[index].first_good_attempt = chance.randint(2, 3)
        case "fails":
            steps[index].first_good_attempt = _NEVER
            steps[index].retries = chance.randint(0, 1)
            ends, culprit = frozenset({State.FAILED}), index
        case "times out":
            steps[index].seconds, steps[index].timeout_seconds = _TOO_LONG_SECONDS, chance.randint(1, 3)
            steps[index].retries = chance.randint(0, 1)
            # The last attempt may be lost instead, or killed.
            ends, culprit = frozenset({State.TIMEOUT, State.FAILED}), index
        case "is cancelled":
            cancel_after = pace * chance.uniform(0.2, 8)
            ends = frozenset({State.CANCELLED, State.SUCCEEDED})
    name = f"chaos-{number}"
    plan = Plan(
        workflow_id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        workers=tuple(chosen[step.worker] for step in steps),
        ends=ends,
        culprit=culprit,
    )
    devices = {_device(position): machine for position, machine in enumerate(chosen)}
    return Errand(plan, _template(name, steps), name, devices, create_after, cancel_after)


def _step(chance: random.Random, worker: int, pace: float) -> _Step:
    low, high = chance.choices(((0.05, 0.5), (1, 3), (5, 8)), (80, 16, 4))[0]
    step = _Step(worker, round(pace * chance.uniform(low, high), 2))
    step.delay_seconds = chance.choices((0, 1), (80, 20))[0]
    step.timeout_seconds = chance.choices((0, 120), (80, 20))[0]
    return step


def _template(name: str, steps: Sequence[_Step]) -> str:
    """Write the template; what one machine does in a row is a task. JSON is YAML too."""
    runs = itertools.groupby(enumerate(steps), lambda numbered: numbered[1].worker)
    tasks = [
        {
            "name": f"task-{number}",
            "worker": f"{{{{.{_device(worker)}}}}}",
            "actions": [_action(index, step) for index, step in group],
        }
        for number, (worker, group) in enumerate(runs)
    ]
    return json.dumps({"version": "0.1", "name": name, "tasks": tasks})


def _action(index: int, step: _Step) -> dict[str, object]:
    action: dict[str, object] = {
        "name": f"step-{index}",
        "image": journal.IMAGE,
        "command": [str(step.seconds), str(step.first_good_attempt)],
        "retries": step.retries,
        "retry-delay": step.delay_seconds,
    }
    return action | ({"timeout": step.timeout_seconds} if step.timeout_seconds else {})


def _device(number: int) -> str:
    return f"device_{number + 1}"
