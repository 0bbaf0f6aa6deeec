"""The states of a run that this process carries out, and which state may follow which.

Theory of operation. Calls go one way, and results come back as values:

    driver ──▶ runner ──▶ agent ──▶ job, runtime
       ▲         │ ▲        │
       │         │ └────────┘ how the run ended, and what the server answered
       └─────────┘ ids of workflows that are to be looked at again

* The **driver** looks at workflows, lets `core.decide` say what each needs, and has the runner do it.
* The **runner** has a task for each job. It knows the workflow: which action follows, and which workflows wait.
* The **agent** carries out one run. It knows no workflow: it is given the work, and a reporter that tells the server.
* The **job** is the handle of a run: its state, and the way to ask it to stop.

                   ┌─▶ REFUSED
        BEGINNING ─┴─▶ RUNNING ───▶ REPORTING ───▶ CLEARING ───▶ GONE, STUCK or LEFT
            │             │             │              ▲
    stop    └─────────────┴─────────────┴─▶ STOPPING ──┘
    leave   └─────────────┴─▶ LEAVING ───▶ LEFT

The agent moves a job from state to state. A move that is not in `FOLLOWING` would break the order of effects below, and
is refused. STOPPING and LEAVING are requests, which may come at any time. A request that comes too late changes
nothing; one that comes in time wins, and later moves of the interrupted step are ignored.

This process may die at any moment, and its successor knows only what the server, the runtime and the state directory
tell. So the order of the states is the order of the effects:

* BEGINNING: the server accepts the report RUNNING before anything is started. An adopted run is reported as well, and
  the server then records that it belongs to this process. If the report is refused, nothing is started, so no run
  happens twice.
* RUNNING: the run is named after the action and the attempt, so a successor finds it, and how it ended.
* REPORTING: the server has the output before it hears of the end, so nobody reads an end without its output. Only the
  last output of a run that did not end by itself may come later.
* CLEARING: the run is removed only when the server knows its end, or has refused to hear it.
* LEFT: the run stays, as the sign that its hook is not done, or because the next look must decide. `hook` removes it.
* GONE: nothing of the run is here. A machine is released when all its runs are gone. While one is STUCK, it may still
  be here, and the next list leads to another try.

A hook's job begins in RUNNING, since its start is not reported, and goes to GONE or STUCK from there. The job of a run
that nobody watches, and that must not go on, begins in CLEARING.
"""

from collections.abc import Mapping, Set
from enum import StrEnum


class RunState(StrEnum):
    """The state of a run."""

    BEGINNING = "the server is asked whether it may begin"
    RUNNING = "it is started or found, and its end is awaited"
    REPORTING = "its end is reported"
    CLEARING = "it is removed, unless it is needed"
    STOPPING = "it is to be removed, and what was under way is interrupted"
    LEAVING = "it is to be left where it is"
    REFUSED = "the server did not let it begin"
    GONE = "nothing of it is here"
    LEFT = "it stays for its hook, or until the next look decides about it"
    STUCK = "it could not be removed, or its hook could not be run"

    @property
    def is_watched(self) -> bool:
        """Whether the run may still go on, so that a decision about its workflow counts it as running."""
        return self in _WATCHED


class IllegalMove(Exception):
    """A move would break the order of effects."""


_WATCHED = frozenset({RunState.BEGINNING, RunState.RUNNING, RunState.REPORTING, RunState.STOPPING})
FOLLOWING: Mapping[RunState, Set[RunState]] = {
    RunState.BEGINNING: {RunState.RUNNING, RunState.REFUSED, RunState.STOPPING, RunState.LEAVING},
    RunState.RUNNING: {RunState.REPORTING, RunState.GONE, RunState.STUCK, RunState.STOPPING, RunState.LEAVING},
    RunState.REPORTING: {RunState.CLEARING, RunState.STOPPING},
    RunState.STOPPING: {RunState.CLEARING},
    RunState.LEAVING: {RunState.LEFT},
    RunState.CLEARING: {RunState.GONE, RunState.STUCK, RunState.LEFT},
}
_REQUESTS = (RunState.STOPPING, RunState.LEAVING)
# The moves that the interrupted step may still make after a request; they are ignored.
_OVERTAKEN = (RunState.RUNNING, RunState.REPORTING, RunState.REFUSED, RunState.GONE, RunState.STUCK)


def after(state: RunState, to: RunState) -> RunState:
    """Return the state after a move, which is the old one if the move comes too late; raises `IllegalMove`."""
    if to in FOLLOWING.get(state, ()):
        return to
    if to in _REQUESTS or (state in _REQUESTS and to in _OVERTAKEN):
        return state
    raise IllegalMove(f"{to.name} does not follow on {state.name}")
