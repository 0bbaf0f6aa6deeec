"""The life of a run that is seen to here: its states, and which may follow on which.

Theory of operation. Calls go one way, and results come back as values:

    driver ──▶ runner ──▶ agent ──▶ job, runtime
       ▲         │ ▲        │
       │         │ └────────┘ how the run ended, and what the server answered
       └─────────┘ ids of workflows that are to be looked at again

* The **driver** looks at workflows, lets `core.decide` say what each needs, and has the runner do it.
* The **runner** has a task for each job. It knows what is the workflow's: which action follows, and who waits.
* The **agent** carries out one run. It knows no workflow: it is given a work, and a reporter that tells the server.
* The **job** is the handle of a run: its state, and the way to ask it to stop.

                   ┌─▶ REFUSED
        BEGINNING ─┴─▶ RUNNING ───▶ REPORTING ───▶ CLEARING ───▶ GONE, STUCK or LEFT
            │             │             │              ▲
    stop    └─────────────┴─────────────┴─▶ STOPPING ──┘
    leave   └─────────────┴─▶ LEAVING ───▶ LEFT

Whoever carries out a run moves its job from state to state. A move that is not in `FOLLOWING` would break the order of
effects below, and is refused. STOPPING and LEAVING are requests, which anybody makes at any time: one that comes too
late changes nothing, and what was under way when it came has no say any more.

This process may die between any two lines, and its successor knows only what the server, the runtime and the state
directory tell. So the order of the states is the order of the effects:

* BEGINNING: the server accepts the report RUNNING before anything is started. Whoever adopts a run reports so, too,
  which is how the server lets this process have it. Whoever is refused starts nothing, so nothing runs twice.
* RUNNING: the run is named after the action and the attempt, so a successor finds it, and how it ended.
* REPORTING: the server has the output before it hears of the end, so nobody reads an end without its output. Only the
  last output of a run that did not end by itself may come later.
* CLEARING: the run is removed only when the server knows its end, or does not want to know it.
* LEFT: the run stays, as the sign that its hook is not done, or because the next look must decide. `hook` removes it.
* GONE: nothing of the run is here. A machine is released when all its runs are gone, and not while one is STUCK, which
  may still be here: a later list leads back to it.

A hook's job begins in RUNNING, since nothing is reported about it, and is over with that. The job of a run that nobody
watches, and that must not go on, begins in CLEARING.
"""

from collections.abc import Mapping, Set
from enum import StrEnum


class RunState(StrEnum):
    """Where a run is in its life here."""

    BEGINNING = "the server is asked whether it may begin"
    RUNNING = "it is started or found, and its end is awaited"
    REPORTING = "its end is reported"
    CLEARING = "it is removed, unless it is needed"
    STOPPING = "it is to be removed, and what was under way is interrupted"
    LEAVING = "it is to be left where it is"
    REFUSED = "the server did not let it begin"
    GONE = "nothing of it is here any more"
    LEFT = "it is here for its hook, or for the next look to decide upon"
    STUCK = "it could not be removed, or its hook not be run"

    @property
    def is_watched(self) -> bool:
        """Whether it may still run, so that a decision about its workflow reckons with it."""
        return self in _WATCHED


class IllegalMove(Exception):
    """Whoever carries out a run breaks the order of effects."""


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
# What may still come of that which a request interrupts.
_OVERTAKEN = (RunState.RUNNING, RunState.REPORTING, RunState.REFUSED, RunState.GONE, RunState.STUCK)


def after(state: RunState, to: RunState) -> RunState:
    """Return the state after a move, which is another one where a request outranks it; raises `IllegalMove`."""
    if to in FOLLOWING.get(state, ()):
        return to
    if to in _REQUESTS or (state in _REQUESTS and to in _OVERTAKEN):
        return state
    raise IllegalMove(f"{to.name} does not follow on {state.name}")
